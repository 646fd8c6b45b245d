// SPDX-License-Identifier: Apache-2.0
/// Key form: BSON values as bytes whose memcmp order is the order of compareValues. Index keys are
/// made of it; see docs/design/bson.md. What the form loses (int 5 or double 5.0, -0.0, digits of a
/// decimal) is kept in *type bits*, so that a value can be restored exactly. Any thread.
#pragma once

#include "freshet/bson/builder.h"

#include <string>
#include <vector>

namespace freshet::bson {

/// Appends the key form of one value to `key`, complemented when `descending`. A missing element is
/// encoded as null. If `typeBits` is given, appends what restoreKeyForm needs; zero bytes at the
/// end of a whole key's type bits may be dropped. No form is a prefix of another, so anything may
/// follow it in a key.
void appendKeyForm(const Element& value, bool descending, std::string* key, std::string* typeBits);

/// Bytes that sort before (after) every value's form in the same direction's order, for open
/// bounds.
void appendKeyFormMin(std::string* key);
void appendKeyFormMax(std::string* key);

/// Bounds of all values of the same canonical class as `type` (undefined and null are classes of
/// their own): in the order of values, Low is below all of them and High above. Comparisons such as
/// {$gt: 5} match only within these bounds. NaN counts as the lowest number and is within them.
void appendClassLow(Type type, bool descending, std::string* key);
void appendClassHigh(Type type, bool descending, std::string* key);

/// Restores values from a key made by appendKeyForm. `descending[i]` must be as it was then. The
/// result has fields named "0", "1", ... Other bytes may follow in the key. kCorruption when it
/// does not start with key forms, or not with ones of these type bits.
StatusOr<OwnedDocument> restoreKeyForm(ByteView key,
                                       ByteView typeBits,
                                       const std::vector<bool>& descending);

/// The length of the first `values` values in `key`; kCorruption when there are fewer.
StatusOr<size_t> keyFormPrefixBytes(ByteView key,
                                    size_t values,
                                    const std::vector<bool>& descending);

}  // namespace freshet::bson
