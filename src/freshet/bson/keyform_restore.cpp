// SPDX-License-Identifier: Apache-2.0
/// Reads the key form back. The bytes come from disk, so nothing about them is assumed: a form that
/// no value has gives kCorruption.
#include "freshet/bson/keyform.h"
#include "freshet/bson/keyform/format.h"
#include "freshet/bson/keyform/number.h"
#include "freshet/bson/keyform/reader.h"

#include <bit>

namespace freshet::bson {

namespace {

using namespace keyform;

Status corrupt() {
    return {Code::kCorruption, "bytes of an index key are not a key form"};
}

/// Undoes the escapes of a string's bytes; false for a lone or unknown escape.
bool unescape(std::string* text) {
    size_t to = 0;
    for (size_t at = 0; at < text->size(); ++at) {
        char c = (*text)[at];
        if (c == static_cast<char>(kEscapeByte)) {
            if (++at == text->size()) {
                return false;
            }
            c = static_cast<char>((*text)[at] - 1);
            if (c != 0 && c != 1) {
                return false;
            }
        }
        (*text)[to++] = c;
    }
    text->resize(to);
    return true;
}

/// Reads one value after another; false means corruption. Without a builder it only skips.
class Decoder {
public:
    Decoder(Reader& key, TypeBitsReader& typeBits) : key_(key), typeBits_(typeBits) {}

    bool value(std::string_view name, Builder* out, int nesting) {
        uint8_t classByte = 0;
        return key_.byte(&classByte) && body(classByte, name, out, nesting);
    }

private:
    bool body(uint8_t classByte, std::string_view name, Builder* out, int nesting) {
        if (isNumberByte(classByte)) {
            return out == nullptr ? skipNumber(classByte, key_)
                                  : restoreNumber(classByte, key_, typeBits_, name, *out);
        }
        switch (classByte) {
            case kMinKey:
                return add(name, out, Type::kMinKey, {});
            case kUndefined:
                return add(name, out, Type::kUndefined, {});
            case kNull:
                return add(name, out, Type::kNull, {});
            case kString:
                return string(name, out);
            case kCode:
                return code(name, out);
            case kObject:
                return object(name, out, nesting);
            case kArray:
                return array(name, out, nesting);
            case kBinary:
                return binary(name, out);
            case kObjectId:
                return raw(name, out, Type::kObjectId, 12);
            case kBool:
                return boolean(name, out);
            case kDate:
                return word(name, out, Type::kDate, uint64_t{1} << 63);
            case kTimestamp:
                return word(name, out, Type::kTimestamp, 0);
            case kRegex:
                return regex(name, out);
            case kDbPointer:
                return dbPointer(name, out);
            case kCodeWithScope:
                return scopedCode(name, out, nesting);
            case kMaxKey:
                return add(name, out, Type::kMaxKey, {});
            default:
                return false;
        }
    }

    static bool add(std::string_view name, Builder* out, Type type, ByteView bytes) {
        if (out != nullptr) {
            out->addRaw(name, type, bytes);
        }
        return true;
    }

    bool escaped(std::string* text) { return key_.untilEnd(text) && unescape(text); }

    bool string(std::string_view name, Builder* out) {
        if (out == nullptr) {
            return key_.untilEnd(nullptr);
        }
        uint8_t symbol = typeBits_.byte();
        std::string text;
        if (!escaped(&text) || symbol > kBitsSymbol) {
            return false;
        }
        if (symbol == 0) {
            out->add(name, text);
        } else {
            std::string bytes;
            appendLe(bytes, static_cast<uint32_t>(text.size() + 1));
            out->addRaw(name, Type::kSymbol, bytes.append(text).append(1, '\0'));
        }
        return true;
    }

    bool code(std::string_view name, Builder* out) {
        std::string text;
        if (!escaped(&text)) {
            return false;
        }
        if (out != nullptr) {
            out->addCode(name, text);
        }
        return true;
    }

    bool fields(Builder* out, int nesting) {
        for (;;) {
            uint8_t classByte = 0;
            if (!key_.byte(&classByte)) {
                return false;
            }
            if (classByte == kEndByte) {
                return true;
            }
            std::string name;
            if (!key_.untilEnd(&name)) {
                return false;
            }
            bool isNumber = classByte == kNumber;
            if (isNumber && (!key_.byte(&classByte) || !isNumberByte(classByte))) {
                return false;
            }
            if ((!isNumber && isNumberByte(classByte)) || !body(classByte, name, out, nesting)) {
                return false;
            }
        }
    }

    bool object(std::string_view name, Builder* out, int nesting) {
        if (nesting == kNestingMax) {
            return false;
        }
        if (out == nullptr) {
            return fields(nullptr, nesting + 1);
        }
        Builder sub = out->object(name);
        return fields(&sub, nesting + 1);
    }

    bool values(Builder* out, int nesting) {
        for (;;) {
            uint8_t classByte = 0;
            if (!key_.byte(&classByte)) {
                return false;
            }
            if (classByte == kEndByte) {
                return true;
            }
            std::string_view name = out != nullptr ? out->nextIndex() : std::string_view();
            if (!body(classByte, name, out, nesting)) {
                return false;
            }
        }
    }

    bool array(std::string_view name, Builder* out, int nesting) {
        if (nesting == kNestingMax) {
            return false;
        }
        if (out == nullptr) {
            return values(nullptr, nesting + 1);
        }
        Builder sub = out->array(name);
        return values(&sub, nesting + 1);
    }

    bool scopedCode(std::string_view name, Builder* out, int nesting) {
        if (nesting == kNestingMax) {
            return false;
        }
        if (out == nullptr) {
            return key_.untilEnd(nullptr) && fields(nullptr, nesting + 1);
        }
        std::string text;
        Builder scope;
        if (!escaped(&text) || !fields(&scope, nesting + 1)) {
            return false;
        }
        std::string document = scope.finish();
        std::string bytes;
        appendLe(bytes, static_cast<uint32_t>(4 + 4 + text.size() + 1 + document.size()));
        appendLe(bytes, static_cast<uint32_t>(text.size() + 1));
        bytes.append(text).append(1, '\0').append(document);
        return add(name, out, Type::kCodeWithScope, bytes);
    }

    bool binary(std::string_view name, Builder* out) {
        uint64_t length = 0;
        uint8_t subtype = 0;
        std::string bytes;
        if (!key_.integer(4, &length) || !key_.byte(&subtype) || !key_.bytes(length, &bytes)) {
            return false;
        }
        if (out != nullptr) {
            out->add(name, Binary{subtype, bytes});
        }
        return true;
    }

    bool raw(std::string_view name, Builder* out, Type type, size_t count) {
        std::string bytes;
        return key_.bytes(count, &bytes) && add(name, out, type, bytes);
    }

    bool boolean(std::string_view name, Builder* out) {
        uint8_t byte = 0;
        if (!key_.byte(&byte) || byte > 1) {
            return false;
        }
        return add(name, out, Type::kBool, {reinterpret_cast<const char*>(&byte), 1});
    }

    bool word(std::string_view name, Builder* out, Type type, uint64_t flipped) {
        uint64_t value = 0;
        if (!key_.integer(8, &value)) {
            return false;
        }
        value ^= flipped;
        return add(name, out, type, {reinterpret_cast<const char*>(&value), sizeof value});
    }

    bool regex(std::string_view name, Builder* out) {
        std::string pattern;
        std::string options;
        if (!key_.untilEnd(&pattern) || !key_.untilEnd(&options)) {
            return false;
        }
        if (out != nullptr) {
            out->add(name, Regex{pattern, options});
        }
        return true;
    }

    bool dbPointer(std::string_view name, Builder* out) {
        uint64_t length = 0;
        std::string ns;
        std::string id;
        if (!key_.integer(4, &length) || !key_.bytes(length, &ns) || !key_.bytes(12, &id)) {
            return false;
        }
        std::string bytes;
        appendLe(bytes, static_cast<uint32_t>(length + 1));
        return add(name, out, Type::kDbPointer, bytes.append(ns).append(1, '\0').append(id));
    }

    Reader& key_;
    TypeBitsReader& typeBits_;
};

}  // namespace

StatusOr<OwnedDocument> restoreKeyForm(ByteView key,
                                       ByteView typeBits,
                                       const std::vector<bool>& descending) {
    Reader keyReader(key);
    TypeBitsReader bitsReader(typeBits);
    Decoder decoder(keyReader, bitsReader);
    Builder builder;
    for (bool complemented : descending) {
        keyReader.setComplemented(complemented);
        if (!decoder.value(builder.nextIndex(), &builder, 1)) {
            return corrupt();
        }
    }
    return OwnedDocument(builder.finish());
}

StatusOr<size_t> keyFormPrefixBytes(ByteView key,
                                    size_t values,
                                    const std::vector<bool>& descending) {
    Reader keyReader(key);
    TypeBitsReader bitsReader(ByteView{});
    Decoder decoder(keyReader, bitsReader);
    for (size_t i = 0; i < values; ++i) {
        keyReader.setComplemented(i < descending.size() && descending[i]);
        if (!decoder.value({}, nullptr, 1)) {
            return corrupt();
        }
    }
    return keyReader.position();
}

}  // namespace freshet::bson
