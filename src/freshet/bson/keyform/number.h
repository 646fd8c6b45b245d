// SPDX-License-Identifier: Apache-2.0
/// The key form of numbers: one order over int32, int64, double and decimal128, by exact value.
///
/// Every double and every int64 is a *point*; a decimal is a point or lies between two points. The
/// form of a positive number consists of the greatest point that is not greater, a bit that says
/// whether the number is beyond that point, and if so the decimal's own digits, which order it
/// among its neighbours.
///
///   class kFraction, kLarge     (bits of the double << 1 | beyond), 8 bytes big endian
///   class kInteger1..kInteger8  (whole part << 1 | more), 1 to 8 bytes; with `more`:
///                               (55 bits of fraction << 1 | beyond), 7 bytes
///   beyond                      decimal::appendMagnitude
///
/// Doubles from 1 to 2^53 have at most 52 bits of fraction; from there to 2^63 they are whole, as
/// int64s are. A negative number is the complement of its magnitude's form, with the class byte
/// mirrored at kZero.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/bson/keyform/reader.h"

#include <string>

namespace freshet::bson::keyform {

/// Includes the class byte. `typeBits` may be null. REQUIRES: a number.
void appendNumber(const Element& number, std::string* key, std::string* typeBits);

/// Consumes a number's form after its class byte.
bool skipNumber(uint8_t classByte, Reader& reader);

/// The same, and adds the number to `out`. False when the key and the type bits do not fit
/// together.
bool restoreNumber(uint8_t classByte,
                   Reader& reader,
                   TypeBitsReader& typeBits,
                   std::string_view name,
                   Builder& out);

}  // namespace freshet::bson::keyform
