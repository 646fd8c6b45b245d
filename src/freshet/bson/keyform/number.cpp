// SPDX-License-Identifier: Apache-2.0
/// Writing, skipping and restoring numbers of the key form.
#include "freshet/bson/keyform/number.h"

#include "freshet/bson/number/decimal.h"

#include <bit>
#include <cmath>
#include <limits>

namespace freshet::bson::keyform {

namespace {

constexpr int kFractionBits = 55;
constexpr size_t kFractionBytes = 7;

void appendByte(std::string* out, uint8_t byte) {
    out->push_back(static_cast<char>(byte));
}

void appendBigEndian(std::string* out, uint64_t value, size_t bytes) {
    for (size_t shift = bytes * 8; shift != 0; shift -= 8) {
        appendByte(out, static_cast<uint8_t>(value >> (shift - 8)));
    }
}

/// The whole part: 1 <= whole < 2^63.
void appendWhole(std::string* out, uint64_t whole, bool more) {
    uint64_t word = whole << 1 | static_cast<uint64_t>(more);
    size_t bytes = (static_cast<size_t>(std::bit_width(word)) + 7) / 8;
    appendByte(out, static_cast<uint8_t>(kInteger1 + bytes - 1));
    appendBigEndian(out, word, bytes);
}

/// A positive point that is a double, or a number beyond it.
void appendDoublePoint(std::string* out, double point, bool beyond) {
    if (point >= 1 && point < 0x1p63) {
        auto whole = static_cast<uint64_t>(point);
        double fraction = point - static_cast<double>(whole);
        bool more = fraction != 0 || beyond;
        appendWhole(out, whole, more);
        if (more) {
            auto bits = static_cast<uint64_t>(std::ldexp(fraction, kFractionBits));
            appendBigEndian(out, bits << 1 | static_cast<uint64_t>(beyond), kFractionBytes);
        }
        return;
    }
    appendByte(out, point < 1 ? kFraction : kLarge);
    appendBe64(*out, std::bit_cast<uint64_t>(point) << 1 | static_cast<uint64_t>(beyond));
}

/// Turns the magnitude's form that starts at `from` into the form of the negative number.
void negateFrom(std::string* key, size_t from) {
    auto classByte = static_cast<uint8_t>((*key)[from]);
    complementFrom(key, from);
    (*key)[from] = static_cast<char>(2 * kZero - classByte);
}

void appendInteger(std::string* key, int64_t value) {
    if (value == 0) {
        appendByte(key, kZero);
        return;
    }
    size_t from = key->size();
    if (value == std::numeric_limits<int64_t>::min()) {
        appendDoublePoint(key, 0x1p63, false);
    } else {
        appendWhole(key, static_cast<uint64_t>(std::abs(value)), false);
    }
    if (value < 0) {
        negateFrom(key, from);
    }
}

void appendDouble(std::string* key, double value) {
    if (std::isnan(value)) {
        appendByte(key, kNan);
    } else if (value == 0) {
        appendByte(key, kZero);
    } else {
        size_t from = key->size();
        appendDoublePoint(key, std::fabs(value), false);
        if (value < 0) {
            negateFrom(key, from);
        }
    }
}

void appendDecimal(std::string* key, Decimal128 value) {
    bool exact = false;
    double point = std::fabs(decimal::toDoubleTowardZero(value, &exact));
    if (exact || decimal::isZero(value)) {
        appendDouble(key, decimal::isNegative(value) ? -point : point);
        return;
    }
    size_t from = key->size();
    if (point < 0x1p53 || point >= 0x1p63) {
        appendDoublePoint(key, point, true);
    } else {
        // Between these limits the points are exactly the integers, doubles or not.
        int64_t whole = decimal::toInt64(value);
        if (decimal::compare(value, decimal::fromInt64(whole)) == 0) {
            appendInteger(key, whole);
            return;
        }
        appendWhole(key, static_cast<uint64_t>(std::abs(whole)), true);
        appendBigEndian(key, 1, kFractionBytes);
    }
    decimal::appendMagnitude(value, key);
    if (decimal::isNegative(value)) {
        negateFrom(key, from);
    }
}

void appendNumberBits(const Element& number, std::string* typeBits) {
    auto append = [typeBits](NumberBits bits) { appendByte(typeBits, static_cast<uint8_t>(bits)); };
    switch (number.type()) {
        case Type::kInt32:
            return append(NumberBits::kInt32);
        case Type::kInt64:
            return append(NumberBits::kInt64);
        case Type::kDecimal:
            append(NumberBits::kDecimal);
            typeBits->append(number.value());
            return;
        default:
            break;
    }
    double value = number.doubleValue();
    if (std::isnan(value)) {
        append(NumberBits::kNanDouble);
        typeBits->append(number.value());
    } else {
        append(value == 0 && std::signbit(value) ? NumberBits::kNegativeZero : NumberBits::kDouble);
    }
}

/// A parsed form: a point, and whether the number is beyond it.
struct Parts {
    bool negative = false;
    bool isWhole = false;  // the point is `whole`, otherwise `point`
    uint64_t whole = 0;
    double point = 0;
    bool beyond = false;
};

bool readWhole(uint8_t classByte, Reader& reader, Parts* parts) {
    uint64_t word = 0;
    if (!reader.integer(static_cast<size_t>(classByte - kInteger1) + 1, &word)) {
        return false;
    }
    parts->whole = word >> 1;
    parts->isWhole = (word & 1) == 0;
    if (parts->isWhole) {
        return true;
    }
    uint64_t fraction = 0;
    if (!reader.integer(kFractionBytes, &fraction)) {
        return false;
    }
    parts->beyond = (fraction & 1) != 0;
    parts->point = static_cast<double>(parts->whole) +
                   std::ldexp(static_cast<double>(fraction >> 1), -kFractionBits);
    return true;
}

bool readMagnitude(uint8_t classByte, Reader& reader, Parts* parts) {
    if (classByte >= kInteger1 && classByte <= kInteger8) {
        if (!readWhole(classByte, reader, parts)) {
            return false;
        }
    } else if (classByte == kFraction || classByte == kLarge) {
        uint64_t word = 0;
        if (!reader.integer(8, &word)) {
            return false;
        }
        parts->point = std::bit_cast<double>(word >> 1);
        parts->beyond = (word & 1) != 0;
    } else {
        return false;
    }
    return !parts->beyond || reader.bytes(decimal::kMagnitudeBytes, nullptr);
}

bool readNumber(uint8_t classByte, Reader& reader, Parts* parts) {
    if (classByte == kZero || classByte == kNan) {
        parts->isWhole = true;
        return true;
    }
    if (classByte > kZero) {
        return readMagnitude(classByte, reader, parts);
    }
    parts->negative = true;
    reader.flip();
    bool done = readMagnitude(static_cast<uint8_t>(2 * kZero - classByte), reader, parts);
    reader.flip();
    return done;
}

double doubleOf(const Parts& parts) {
    double magnitude = parts.isWhole ? static_cast<double>(parts.whole) : parts.point;
    return parts.negative ? -magnitude : magnitude;
}

int64_t integerOf(const Parts& parts) {
    if (!parts.isWhole) {
        return std::numeric_limits<int64_t>::min();  // its magnitude is not an int64
    }
    auto magnitude = static_cast<int64_t>(parts.whole);
    return parts.negative ? -magnitude : magnitude;
}

/// Adds the number that key and type bits describe together; false when the type bits are unknown.
bool addNumber(const Parts& parts, TypeBitsReader& typeBits, Builder& out) {
    switch (static_cast<NumberBits>(typeBits.byte())) {
        case NumberBits::kInt32:
            out.add("", static_cast<int32_t>(integerOf(parts)));
            return true;
        case NumberBits::kInt64:
            out.add("", integerOf(parts));
            return true;
        case NumberBits::kDouble:
            out.add("", doubleOf(parts));
            return true;
        case NumberBits::kNegativeZero:
            out.add("", -0.0);
            return true;
        case NumberBits::kNanDouble:
            out.addRaw("", Type::kDouble, typeBits.bytes(8));
            return true;
        case NumberBits::kDecimal:
            out.addRaw("", Type::kDecimal, typeBits.bytes(16));
            return true;
    }
    return false;
}

}  // namespace

void appendNumber(const Element& number, std::string* key, std::string* typeBits) {
    switch (number.type()) {
        case Type::kInt32:
            appendInteger(key, number.int32Value());
            break;
        case Type::kInt64:
            appendInteger(key, number.int64Value());
            break;
        case Type::kDecimal:
            appendDecimal(key, number.decimalValue());
            break;
        default:
            appendDouble(key, number.doubleValue());
            break;
    }
    if (typeBits != nullptr) {
        appendNumberBits(number, typeBits);
    }
}

bool skipNumber(uint8_t classByte, Reader& reader) {
    Parts parts;
    return readNumber(classByte, reader, &parts);
}

bool restoreNumber(uint8_t classByte,
                   Reader& reader,
                   TypeBitsReader& typeBits,
                   std::string_view name,
                   Builder& out) {
    std::string form(1, static_cast<char>(classByte));
    Parts parts;
    Reader lookahead = reader;
    if (!readNumber(classByte, lookahead, &parts) ||
        !reader.bytes(lookahead.position() - reader.position(), &form)) {
        return false;
    }
    Builder builder;
    if (!addNumber(parts, typeBits, builder)) {
        return false;
    }
    std::string restored = builder.finish();
    Element number = *Document(restored).begin();
    // Key and type bits fit together exactly if the number has this very form.
    std::string again;
    appendNumber(number, &again, nullptr);
    out.addAs(name, number);
    return again == form;
}

}  // namespace freshet::bson::keyform
