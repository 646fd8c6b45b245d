// SPDX-License-Identifier: Apache-2.0
/// Read-only views of BSON: a Document is a pointer and a length, an Element is one field of it.
/// Views own nothing: the bytes must outlive them. Bytes from outside must first pass
/// Document::parse; after that no accessor can fail or read out of bounds. Any thread.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/base/status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace freshet::bson {

enum class Type : uint8_t {
    kEnd = 0x00,
    kDouble = 0x01,
    kString = 0x02,
    kObject = 0x03,
    kArray = 0x04,
    kBinary = 0x05,
    kUndefined = 0x06,
    kObjectId = 0x07,
    kBool = 0x08,
    kDate = 0x09,
    kNull = 0x0a,
    kRegex = 0x0b,
    kDbPointer = 0x0c,
    kCode = 0x0d,
    kSymbol = 0x0e,
    kCodeWithScope = 0x0f,
    kInt32 = 0x10,
    kTimestamp = 0x11,
    kInt64 = 0x12,
    kDecimal = 0x13,
    kMinKey = 0xff,
    kMaxKey = 0x7f,
};

/// The type's alias in $type and in error texts: "double", "string", "object", ... "missing" for
/// kEnd.
std::string_view typeName(Type type);
/// The type with this alias, or with this number in $type (-1 is minKey); kEnd if there is none.
Type typeFromName(std::string_view alias);
Type typeFromNumber(int64_t number);

inline constexpr size_t kDocumentBytesMax = 16u * 1024 * 1024;  // a user's document
inline constexpr size_t kInternalDocumentBytesMax =
    kDocumentBytesMax + 16 * 1024;  // a reply or command
// How deep a document from outside, or a stored one, may nest: it bounds recursion over documents.
inline constexpr int kNestingMax = 180;

class Document;

/// 16-byte IEEE 754-2008 decimal, as stored.
struct Decimal128 {
    uint64_t low = 0;
    uint64_t high = 0;
};

struct Binary {
    uint8_t subtype = 0;
    ByteView bytes;
};

struct RegexView {
    std::string_view pattern;
    std::string_view options;
};

/// One field. A default-constructed Element is "missing" (type kEnd, isMissing()).
class Element {
public:
    Element() = default;
    /// REQUIRES: validated bytes. `start` points at the type byte.
    explicit Element(const char* start);

    bool isMissing() const { return start_ == nullptr; }
    explicit operator bool() const { return start_ != nullptr; }
    Type type() const { return start_ == nullptr ? Type::kEnd : static_cast<Type>(*start_); }
    std::string_view name() const { return {start_ + 1, nameBytes_}; }
    /// The value's bytes without type and name.
    ByteView value() const { return {valueStart(), valueBytes_}; }
    /// Type, name and value.
    ByteView whole() const { return {start_, 2u + nameBytes_ + valueBytes_}; }

    bool isNumber() const;  // double, int32, int64, decimal
    bool isInteger() const { return type() == Type::kInt32 || type() == Type::kInt64; }
    bool isNull() const { return type() == Type::kNull; }
    bool isString() const { return type() == Type::kString; }
    bool isObject() const { return type() == Type::kObject; }
    bool isArray() const { return type() == Type::kArray; }

    // Each REQUIRES the type in its name.
    double doubleValue() const { return loadLe<double>(valueStart()); }
    int32_t int32Value() const { return loadLe<int32_t>(valueStart()); }
    int64_t int64Value() const { return loadLe<int64_t>(valueStart()); }
    bool boolValue() const { return *valueStart() != 0; }
    int64_t dateMillis() const { return loadLe<int64_t>(valueStart()); }
    uint64_t timestampValue() const { return loadLe<uint64_t>(valueStart()); }
    Decimal128 decimalValue() const;
    ByteView objectIdBytes() const { return {valueStart(), 12}; }
    /// Strings, symbols, code (with or without scope) and a dbPointer's namespace: without the
    /// terminating zero.
    std::string_view stringValue() const;
    /// Subtype 2 includes its inner length in the bytes.
    Binary binaryValue() const;
    RegexView regexValue() const;
    /// For objects and arrays, and the scope of code with scope.
    Document document() const;

    /// Any number, decimal included, to the nearest double; 0 for other types.
    double toDouble() const;
    /// Any number, truncated towards zero and clamped to the range; 0 for other types and NaN.
    int64_t toInt64() const;
    /// An int32, int64, or a double or decimal with an integral value in range.
    bool toExactInt64(int64_t* out) const;
    /// The truth test of commands and expressions: false, null, undefined, missing and any zero are
    /// false, everything else is true.
    bool isTruthy() const;

private:
    const char* valueStart() const { return start_ + 2 + nameBytes_; }
    const char* start_ = nullptr;
    uint32_t nameBytes_ = 0;
    uint32_t valueBytes_ = 0;
};

/// A whole document or array.
class Document {
public:
    /// The empty document.
    Document();
    /// REQUIRES: bytes that parse() has accepted, or that a Builder made.
    explicit Document(const char* data) : data_(data) {}
    explicit Document(ByteView bytes) : data_(bytes.data()) {}

    /// Checks lengths, terminators, types and nesting (<= kNestingMax); names and strings need not
    /// be UTF-8. The document must fill `bytes`: trailing bytes are an error. kInvalid
    /// (kInvalidBson) otherwise.
    static StatusOr<Document> parse(ByteView bytes);
    /// As parse, but the document may be followed by other bytes.
    static StatusOr<Document> parsePrefix(ByteView bytes);

    const char* data() const { return data_; }
    uint32_t size() const { return loadLe<uint32_t>(data_); }
    ByteView bytes() const { return {data_, size()}; }
    bool isEmpty() const { return size() <= 5; }

    class Iterator {
    public:
        explicit Iterator(const char* at) : at_(at) { load(); }
        const Element& operator*() const { return element_; }
        const Element* operator->() const { return &element_; }
        Iterator& operator++() {
            at_ += element_.whole().size();
            load();
            return *this;
        }
        bool operator==(const Iterator& other) const { return at_ == other.at_; }

    private:
        void load() { element_ = *at_ == 0 ? Element() : Element(at_); }
        const char* at_;
        Element element_;
    };
    Iterator begin() const { return Iterator(data_ + 4); }
    Iterator end() const { return Iterator(data_ + size() - 1); }

    /// The first field of that name; missing if there is none.
    Element find(std::string_view name) const;
    bool has(std::string_view name) const { return !find(name).isMissing(); }
    /// Follows dots through objects and, by decimal index, arrays. No implicit array traversal.
    Element findPath(std::string_view dottedPath) const;
    int fieldCount() const;

private:
    const char* data_;
};

/// Whether it has at most that many levels of nesting: 1 for a document that contains no objects or
/// arrays. Looks no deeper than that.
bool nestsWithin(Document document, int levels);
/// The same for a value: 0 for a scalar.
bool nestsWithin(const Element& value, int levels);
/// kInvalid (kOverflow) for a document that nests deeper than may be stored (kNestingMax).
/// Documents that parse() has accepted need no check.
Status checkNesting(Document document);

}  // namespace freshet::bson
