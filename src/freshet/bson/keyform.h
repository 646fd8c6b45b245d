// SPDX-License-Identifier: Apache-2.0
/// Key form: BSON values as bytes whose memcmp order is compareValues order (DESIGN 6.5). Index
/// keys are made of it. What the form loses (int 5 or double 5.0, -0.0, digits of a decimal) is
/// kept in *type bits*, so that a value can be restored exactly. Any thread.
#pragma once

#include "freshet/bson/builder.h"

#include <string>
#include <vector>

namespace freshet::bson {

/// Appends the key form of one value to `key`, complemented when `descending`. A missing element is
/// encoded as null. When `typeBits` is given, appends what restoreKeyForm needs: zero bytes at the
/// end of the type bits of a whole key may be dropped. No form is the start of another one, so
/// anything may follow it in a key.
void appendKeyForm(const Element& value, bool descending, std::string* key, std::string* typeBits);

/// Bytes that sort before (after) every value's form in the same direction's order, for open
/// bounds.
void appendKeyFormMin(std::string* key);
void appendKeyFormMax(std::string* key);

/// Bounds of all values of the same canonical class as `type` (undefined and null are classes of
/// their own): in the order of values, Low is below all of them and High above. Comparisons like
/// {$gt: 5} match only within. NaN counts as the lowest number, and so lies within.
void appendClassLow(Type type, bool descending, std::string* key);
void appendClassHigh(Type type, bool descending, std::string* key);

/// Restores values from a key made by appendKeyForm. `descending[i]` as it was given then. The
/// result has fields named "0", "1", ... The key may go on with other bytes. kCorruption when it
/// does not start with key forms, or with none of these type bits.
StatusOr<OwnedDocument> restoreKeyForm(ByteView key,
                                       ByteView typeBits,
                                       const std::vector<bool>& descending);

/// Bytes of `key` that the first `values` values take; kCorruption when there are fewer.
StatusOr<size_t> keyFormPrefixBytes(ByteView key,
                                    size_t values,
                                    const std::vector<bool>& descending);

}  // namespace freshet::bson
