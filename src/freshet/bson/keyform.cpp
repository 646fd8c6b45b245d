// SPDX-License-Identifier: Apache-2.0
/// Writing the key form. The layout is in keyform/format.h and keyform/number.h.
#include "freshet/bson/keyform.h"

#include "freshet/bson/keyform/format.h"
#include "freshet/bson/keyform/number.h"
#include "freshet/bson/keyform/reader.h"

namespace freshet::bson {

namespace {

using namespace keyform;

/// The first and the last class byte of a type's values.
struct ClassBytes {
    uint8_t first;
    uint8_t last;
};

ClassBytes classBytes(Type type) {
    auto one = [](uint8_t byte) { return ClassBytes{byte, byte}; };
    switch (type) {
        case Type::kMinKey:
            return one(kMinKey);
        case Type::kUndefined:
            return one(kUndefined);
        case Type::kEnd:
        case Type::kNull:
            return one(kNull);
        case Type::kDouble:
        case Type::kInt32:
        case Type::kInt64:
        case Type::kDecimal:
            return {kNumber, kNumberLast};
        case Type::kString:
        case Type::kSymbol:
            return one(kString);
        case Type::kObject:
            return one(kObject);
        case Type::kArray:
            return one(kArray);
        case Type::kBinary:
            return one(kBinary);
        case Type::kObjectId:
            return one(kObjectId);
        case Type::kBool:
            return one(kBool);
        case Type::kDate:
            return one(kDate);
        case Type::kTimestamp:
            return one(kTimestamp);
        case Type::kRegex:
            return one(kRegex);
        case Type::kDbPointer:
            return one(kDbPointer);
        case Type::kCode:
            return one(kCode);
        case Type::kCodeWithScope:
            return one(kCodeWithScope);
        case Type::kMaxKey:
            return one(kMaxKey);
    }
    return one(kNull);
}

/// Writes ascending forms.
class Writer {
public:
    Writer(std::string* key, std::string* typeBits) : key_(*key), typeBits_(typeBits) {}

    void value(const Element& element) {
        if (!element.isNumber()) {
            byte(classBytes(element.type()).first);
        }
        body(element);
    }

private:
    void byte(uint8_t value) { key_.push_back(static_cast<char>(value)); }

    /// What follows the class byte; for a number, includes the class byte.
    void body(const Element& element) {
        switch (element.type()) {
            case Type::kDouble:
            case Type::kInt32:
            case Type::kInt64:
            case Type::kDecimal:
                return appendNumber(element, &key_, typeBits_);
            case Type::kString:
            case Type::kSymbol:
                if (typeBits_ != nullptr) {
                    bool symbol = element.type() == Type::kSymbol;
                    typeBits_->push_back(symbol ? static_cast<char>(kBitsSymbol) : '\0');
                }
                return escaped(element.stringValue());
            case Type::kCode:
                return escaped(element.stringValue());
            case Type::kObject:
                return fields(element.document());
            case Type::kArray:
                return values(element.document());
            case Type::kCodeWithScope:
                escaped(element.stringValue());
                return fields(element.document());
            case Type::kBinary:
                return binary(element.binaryValue());
            case Type::kObjectId:
            case Type::kBool:
                key_.append(element.value());
                return;
            case Type::kDate:
                return appendBe64(key_,
                                  static_cast<uint64_t>(element.dateMillis()) ^ uint64_t{1} << 63);
            case Type::kTimestamp:
                return appendBe64(key_, element.timestampValue());
            case Type::kRegex:
                plain(element.regexValue().pattern);
                return plain(element.regexValue().options);
            case Type::kDbPointer:
                return dbPointer(element);
            case Type::kEnd:
            case Type::kUndefined:
            case Type::kNull:
            case Type::kMinKey:
            case Type::kMaxKey:
                return;
        }
    }

    void escaped(std::string_view text) {
        size_t from = 0;
        for (size_t at = 0; at < text.size(); ++at) {
            auto c = static_cast<uint8_t>(text[at]);
            if (c <= kEscapeByte) {
                key_.append(text.substr(from, at - from));
                byte(kEscapeByte);
                byte(c == 0 ? kEscapedZero : kEscapedEscape);
                from = at + 1;
            }
        }
        key_.append(text.substr(from));
        byte(kEndByte);
    }

    /// Text that cannot contain a zero byte.
    void plain(std::string_view text) {
        key_.append(text);
        byte(kEndByte);
    }

    void fields(Document document) {
        for (const Element& element : document) {
            byte(classBytes(element.type()).first);
            plain(element.name());
            body(element);
        }
        byte(kEndByte);
    }

    void values(Document document) {
        for (const Element& element : document) {
            value(element);
        }
        byte(kEndByte);
    }

    void binary(Binary value) {
        appendBe32(key_, static_cast<uint32_t>(value.bytes.size()));
        byte(value.subtype);
        key_.append(value.bytes);
    }

    void dbPointer(const Element& element) {
        constexpr size_t kIdBytes = 12;
        appendBe32(key_, static_cast<uint32_t>(element.stringValue().size()));
        key_.append(element.stringValue());
        key_.append(element.value().substr(element.value().size() - kIdBytes));
    }

    std::string& key_;
    std::string* typeBits_;
};

void appendBound(uint8_t byte, bool descending, std::string* key) {
    key->push_back(static_cast<char>(descending ? ~byte : byte));
}

}  // namespace

void appendKeyForm(const Element& value, bool descending, std::string* key, std::string* typeBits) {
    size_t from = key->size();
    Writer(key, typeBits).value(value);
    if (descending) {
        complementFrom(key, from);
    }
}

void appendKeyFormMin(std::string* key) {
    key->push_back('\x00');
}

void appendKeyFormMax(std::string* key) {
    key->push_back('\xff');
}

void appendClassLow(Type type, bool descending, std::string* key) {
    appendBound(classBytes(type).first - 1, descending, key);
}

void appendClassHigh(Type type, bool descending, std::string* key) {
    appendBound(classBytes(type).last + 1, descending, key);
}

}  // namespace freshet::bson
