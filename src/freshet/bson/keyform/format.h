// SPDX-License-Identifier: Apache-2.0
/// The layout of the key form. Each value starts with a class byte. Class bytes are eight apart, so
/// the bytes just before and after a class, which no value has, can serve as its bounds. No class
/// byte is 0x00 or 0xff, in either direction.
///
///   class byte, then
///   null, undefined, MinKey, MaxKey   nothing
///   number                            number.h; the class byte tells sign and size
///   string, symbol, code              bytes with 00 as 01 01 and 01 as 01 02, then 00
///   object                            fields: class (kNumber for every number), name, 00, the
///                                     value (without its class byte unless a number); then 00
///   array                             values, then 00
///   binary                            length (4, big endian), subtype, bytes
///   objectId, bool                    the bytes
///   date, timestamp                   8 bytes big endian, the date's sign flipped
///   regex                             pattern, 00, options, 00
///   dbPointer                         length of the namespace (4, big endian), namespace, id (12)
///   code with scope                   code as a string, then the scope's fields as an object's
///
/// The escape differs from the usual 00 -> 00 ff so that 00 ends a string in both directions,
/// whatever follows: it may be a record id, whose first byte can be anything.
///
/// Type bits: bytes, in the order of the values that need them (numbers and strings).
#pragma once

#include "freshet/bson/view.h"

namespace freshet::bson::keyform {

inline constexpr uint8_t kEndByte = 0x00;
inline constexpr uint8_t kEscapeByte = 0x01;
inline constexpr uint8_t kEscapedZero = 0x01;
inline constexpr uint8_t kEscapedEscape = 0x02;

inline constexpr uint8_t kMinKey = 0x08;
inline constexpr uint8_t kUndefined = 0x10;
inline constexpr uint8_t kNull = 0x18;
inline constexpr uint8_t kNumber = 0x20;  // used alone only as the class of an object's field
inline constexpr uint8_t kNan = 0x24;
inline constexpr uint8_t kZero = 0x38;      // negative numbers are below it, mirrored
inline constexpr uint8_t kFraction = 0x39;  // 0 < magnitude < 1
inline constexpr uint8_t kInteger1 = 0x3a;  // 1 <= magnitude < 2^63, in one byte ...
inline constexpr uint8_t kInteger8 = 0x41;  // ... to eight
inline constexpr uint8_t kLarge = 0x42;     // 2^63 and more, infinity
inline constexpr uint8_t kNumberLast = kLarge;
inline constexpr uint8_t kString = 0x60;
inline constexpr uint8_t kObject = 0x68;
inline constexpr uint8_t kArray = 0x70;
inline constexpr uint8_t kBinary = 0x78;
inline constexpr uint8_t kObjectId = 0x80;
inline constexpr uint8_t kBool = 0x88;
inline constexpr uint8_t kDate = 0x90;
inline constexpr uint8_t kTimestamp = 0x98;
inline constexpr uint8_t kRegex = 0xa0;
inline constexpr uint8_t kDbPointer = 0xa8;
inline constexpr uint8_t kCode = 0xb0;
inline constexpr uint8_t kCodeWithScope = 0xb8;
inline constexpr uint8_t kMaxKey = 0xf0;

inline bool isNumberByte(uint8_t byte) {
    return byte > kNumber && byte <= kNumberLast;
}

/// Type bits of a string: 0 for a string, 1 for a symbol.
inline constexpr uint8_t kBitsSymbol = 1;
/// Type bits of a number.
enum class NumberBits : uint8_t {
    kInt32 = 0,
    kInt64 = 1,
    kDouble = 2,
    kNegativeZero = 3,
    kNanDouble = 4,  // 8 bytes follow: the double
    kDecimal = 5,    // 16 bytes follow: the decimal
};

}  // namespace freshet::bson::keyform
