// SPDX-License-Identifier: Apache-2.0
/// A BSON value inside an expression, an accumulator or an update: a view into a document (nothing
/// copied), a small scalar kept inside, or bytes shared with other Values. A default-constructed
/// Value is missing. Not thread-safe; copies are independent.
///
/// INV-1  A borrowed Value is valid only as long as the document it came from; own() makes it
/// independent.
#pragma once

#include "freshet/bson/builder.h"

#include <memory>
#include <string>
#include <string_view>

namespace freshet::query {

class Value {
public:
    Value() = default;
    /// Borrows.
    explicit Value(const bson::Element& element) : element_(element) {}
    Value(const Value& other) { copy(other); }
    Value(Value&& other) noexcept { take(other); }
    Value& operator=(Value&& other) noexcept {
        if (this != &other) {
            take(other);
        }
        return *this;
    }
    Value& operator=(const Value& other) {
        if (this != &other) {
            copy(other);
        }
        return *this;
    }

    static Value of(double value) { return scalar(bson::Type::kDouble, value); }
    static Value of(int32_t value) { return scalar(bson::Type::kInt32, value); }
    static Value of(int64_t value) { return scalar(bson::Type::kInt64, value); }
    static Value of(bson::Decimal128 value) { return scalar(bson::Type::kDecimal, value); }
    static Value of(bson::Date value) { return scalar(bson::Type::kDate, value.millis); }
    static Value of(bson::Timestamp value) { return scalar(bson::Type::kTimestamp, value.value); }
    static Value of(bool value) {
        return scalar(bson::Type::kBool, static_cast<uint8_t>(value ? 1 : 0));
    }
    static Value of(std::string_view text);
    static Value of(const bson::ObjectId& id) { return scalar(bson::Type::kObjectId, id.bytes); }
    static Value null();
    /// An int32 if it fits, else an int64.
    static Value ofInteger(int64_t value);
    /// From the bytes of a whole object or array.
    static Value ofDocument(std::string_view bytes) { return owned(bson::Type::kObject, bytes); }
    static Value ofArray(std::string_view bytes) { return owned(bson::Type::kArray, bytes); }

    const bson::Element& element() const { return element_; }
    bson::Type type() const { return element_.type(); }
    bool isMissing() const { return element_.isMissing(); }
    /// Missing, null or undefined.
    bool isNullish() const;
    /// A copy that depends on no document.
    Value own() const;
    /// A part of this Value; shares what it owns.
    Value part(const bson::Element& element) const;
    /// Bytes that are kept alive by this Value alone, for memory accounting.
    size_t heldBytes() const { return sizeof(Value) + valueBytes(); }
    size_t valueBytes() const { return isMissing() ? 0 : element_.value().size(); }

private:
    static constexpr size_t kSmallBytes = 18;  // type, empty name, a decimal

    template <typename T>
    static Value scalar(bson::Type type, const T& value) {
        static_assert(sizeof(T) + 2 <= kSmallBytes);
        Value result;
        result.small_[0] = static_cast<char>(type);
        result.small_[1] = 0;
        std::memcpy(result.small_ + 2, &value, sizeof(T));
        result.element_ = bson::Element(result.small_);
        result.isSmall_ = true;
        return result;
    }
    static Value owned(bson::Type type, std::string_view value);
    void copy(const Value& other) {
        owner_ = other.owner_;
        place(other);
    }
    void take(Value& other) noexcept {
        owner_ = std::move(other.owner_);
        place(other);
    }
    void place(const Value& other) noexcept {
        isSmall_ = other.isSmall_;
        element_ = other.element_;
        if (isSmall_) {
            std::memcpy(small_, other.small_, kSmallBytes);
            element_ = bson::Element(small_);
        }
    }

    bson::Element element_;
    std::shared_ptr<const std::string> owner_;
    char small_[kSmallBytes];
    bool isSmall_ = false;
};

/// Levels of nesting in a value: 0 for scalars.
int nestingOf(const bson::Element& element);

}  // namespace freshet::query
