// SPDX-License-Identifier: Apache-2.0
/// MongoDB Extended JSON v2, both ways, through libbson. Any thread.
#pragma once

#include "freshet/bson/builder.h"

#include <string>

namespace freshet::bson {

/// Parses one JSON object (relaxed or canonical Extended JSON). kInvalid (kFailedToParse), with the
/// position, for bad input.
StatusOr<OwnedDocument> fromJson(std::string_view json);
/// Finds where a JSON object ends, in text that may grow between calls.
class JsonEndFinder {
public:
    /// The length up to the brace or bracket that closes the first one; 0 if that has not come yet.
    /// `text` starts with what earlier calls got; that part is not examined again.
    size_t find(std::string_view text);

private:
    size_t at_ = 0;
    size_t open_ = 0;
    bool quoted_ = false;
};
/// Relaxed Extended JSON on one line.
std::string toJson(Document document);
/// Canonical Extended JSON on one line: types survive a round trip.
std::string toCanonicalJson(Document document);
/// The text, with each byte that is not part of a UTF-8 sequence replaced by U+FFFD.
std::string repairedUtf8(std::string_view text);
/// A decimal as JSON and $toString show it: 0.3, 1E+5, NaN.
std::string decimalText(Decimal128 value);
/// One value as error texts and explain print it: 1, "a", ObjectId('...'), { a: 1 }, [ 1, 2 ].
std::string toShellText(const Element& element);
/// The same for a whole document: { a: 1, b: "x" }.
std::string toShellText(Document document);

}  // namespace freshet::bson
