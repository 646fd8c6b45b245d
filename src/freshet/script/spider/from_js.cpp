// SPDX-License-Identifier: Apache-2.0
#include "freshet/bson/body.h"
#include "freshet/script/spider/convert.h"
#include "freshet/script/spider/notes.h"

#include <js/Array.h>
#include <js/BigInt.h>
#include <js/Conversions.h>
#include <js/Date.h>
#include <js/Exception.h>
#include <js/PropertyAndElement.h>
#include <js/RegExp.h>
#include <js/RegExpFlags.h>
#include <js/experimental/TypedData.h>
#include <jsfriendapi.h>

#include <charconv>
#include <cmath>
#include <cstring>

namespace freshet::script {

namespace {

bool throwError(JSContext* cx, const char* text) {
    JS_ReportErrorUTF8(cx, "%s", text);
    return false;
}

int hexDigit(char c) {
    int value = -1;
    std::from_chars(&c, &c + 1, value, 16);
    return value;
}

class Writer {
public:
    Writer(JSContext* cx, const Types& types) : cx_(cx), types_(types) {}

    bool add(bson::Builder& to, std::string_view name, JS::HandleValue value, Note note) {
        if (value.isString()) {
            JS::RootedString text(cx_, value.toString());
            return addText(to, name, text, bson::Type::kString);
        }
        if (value.isNumber()) {
            addNumber(
                to,
                name,
                value.toNumber(),
                note == Note::kDouble || (types_.numbersAreDoubles() && note != Note::kInt32));
        } else if (value.isBoolean()) {
            to.add(name, value.toBoolean());
        } else if (value.isNull()) {
            to.add(name, bson::Null());
        } else if (value.isUndefined()) {
            note == Note::kUndefined ? to.add(name, bson::Undefined()) : to.add(name, bson::Null());
        } else if (value.isBigInt()) {
            return addBigInt(to, name, value);
        } else if (value.isObject()) {
            JS::RootedObject object(cx_, &value.toObject());
            return addObject(to, name, object);
        }
        return true;  // a document cannot hold a symbol
    }

private:
    static void addNumber(bson::Builder& to, std::string_view name, double value, bool isDouble) {
        int32_t whole = 0;
        if (!isDouble && mozilla::NumberIsInt32(value, &whole)) {
            to.add(name, whole);
        } else {
            to.add(name, value);
        }
    }

    bool addBigInt(bson::Builder& to, std::string_view name, JS::HandleValue value) {
        int64_t number = 0;
        if (!JS::BigIntFits(value.toBigInt(), &number)) {
            return throwError(cx_, "a BigInt beyond 64 bits cannot be stored");
        }
        to.add(name, number);
        return true;
    }

    bool addText(bson::Builder& to, std::string_view name, JS::HandleString text, bson::Type type) {
        std::string bytes;
        if (!textFromJs(cx_, text, &bytes)) {
            return false;
        }
        if (type == bson::Type::kString) {
            to.add(name, bytes);
        } else {
            to.addRaw(name, type, stringValue(bytes));
        }
        return true;
    }

    /// The bytes of a BSON string value.
    static std::string stringValue(std::string_view text) {
        std::string bytes(4, '\0');
        storeLe<uint32_t>(bytes.data(), static_cast<uint32_t>(text.size() + 1));
        bytes.append(text).push_back('\0');
        return bytes;
    }

    bool addObject(bson::Builder& to, std::string_view name, JS::HandleObject object) {
        Kind kind = Kind::kCount;
        if (!types_.kindOf(cx_, object, &kind)) {
            return false;
        }
        if (kind != Kind::kCount && kind != Kind::kDbRef) {
            return addOfClass(to, name, object, kind);
        }
        js::ESClass shape = js::ESClass::Other;
        if (!JS::GetBuiltinClass(cx_, object, &shape)) {
            return false;
        }
        switch (shape) {
            case js::ESClass::Date:
                return addDate(to, name, object);
            case js::ESClass::RegExp:
                return addRegExp(to, name, object);
            case js::ESClass::Number:
            case js::ESClass::String:
            case js::ESClass::Boolean:
            case js::ESClass::BigInt: {
                JS::RootedValue inner(cx_);
                return JS_CallFunctionName(
                           cx_, object, "valueOf", JS::HandleValueArray::empty(), &inner) &&
                       !inner.isObject() && add(to, name, inner, Note::kNone);
            }
            case js::ESClass::Array:
                return addDocument(to, name, object, true);
            default:
                break;
        }
        if (JS_IsUint8Array(object)) {
            to.add(name, bson::Binary{0, bytesOf(object)});
            return true;
        }
        return addPlain(to, name, object);
    }

    bool addPlain(bson::Builder& to, std::string_view name, JS::HandleObject object) {
        JS::RootedValue own(cx_);
        if (!JS_GetProperty(cx_, object, "toBSON", &own)) {
            return false;
        }
        if (!own.isObject() || !JS::IsCallable(&own.toObject())) {
            return JS::IsCallable(object) ? addFunction(to, name, object)
                                          : addDocument(to, name, object, false);
        }
        JS::RootedValue result(cx_);
        return deeper() &&
               JS_CallFunctionValue(cx_, object, own, JS::HandleValueArray::empty(), &result) &&
               add(to, name, result, Note::kNone) && shallower();
    }

    bool addDocument(bson::Builder& to,
                     std::string_view name,
                     JS::HandleObject object,
                     bool isArray) {
        if (!deeper()) {
            return false;
        }
        bson::Builder inner = isArray ? to.array(name) : to.object(name);
        if (!(isArray ? addElements(inner, object) : addFields(inner, object))) {
            return false;
        }
        inner.close();
        return shallower();
    }

    bool addElements(bson::Builder& to, JS::HandleObject array) {
        uint32_t length = 0;
        JS::RootedObject notes(cx_);
        if (!JS::GetArrayLength(cx_, array, &length) || !notesOf(cx_, array, &notes)) {
            return false;
        }
        JS::RootedValue value(cx_);
        for (uint32_t at = 0; at < length; ++at) {
            Note note = Note::kNone;
            if (!JS_GetElement(cx_, array, at, &value)) {
                return false;
            }
            if (notes != nullptr) {
                JS::RootedId id(cx_, JS::PropertyKey::Int(static_cast<int32_t>(at)));
                if (!noteOf(cx_, notes, id, &note)) {
                    return false;
                }
            }
            // An array has no gaps: what cannot be stored becomes null.
            if (value.isSymbol()) {
                value.setNull();
            }
            if (!add(to, to.nextIndex(), value, note)) {
                return false;
            }
        }
        return true;
    }

public:
    bool addFields(bson::Builder& to, JS::HandleObject object) {
        JS::Rooted<JS::IdVector> ids(cx_, JS::IdVector(cx_));
        JS::RootedObject notes(cx_);
        if (!JS_Enumerate(cx_, object, &ids) || !notesOf(cx_, object, &notes)) {
            return false;
        }
        JS::RootedValue value(cx_);
        JS::RootedId id(cx_);
        std::string field;
        for (size_t at = 0; at < ids.length(); ++at) {
            id = ids[at];
            Note note = Note::kNone;
            if (!nameOf(id, &field) || !JS_GetPropertyById(cx_, object, id, &value) ||
                (notes != nullptr && !noteOf(cx_, notes, id, &note)) ||
                !add(to, field, value, note)) {
                return false;
            }
        }
        return true;
    }

private:
    bool nameOf(JS::HandleId id, std::string* name) {
        JS::RootedValue key(cx_);
        if (!JS_IdToValue(cx_, id, &key)) {
            return false;
        }
        JS::RootedString text(cx_, JS::ToString(cx_, key));
        if (text == nullptr || !textFromJs(cx_, text, name)) {
            return false;
        }
        return name->find('\0') == std::string::npos ||
               throwError(cx_, "a field's name cannot have a zero byte");
    }

    bool addFunction(bson::Builder& to, std::string_view name, JS::HandleObject function) {
        JS::RootedValue value(cx_, JS::ObjectValue(*function));
        JS::RootedString text(cx_, JS::ToString(cx_, value));
        return text != nullptr && addText(to, name, text, bson::Type::kCode);
    }

    bool addDate(bson::Builder& to, std::string_view name, JS::HandleObject date) {
        double millis = 0;
        if (!js::DateGetMsecSinceEpoch(cx_, date, &millis)) {
            return false;
        }
        int64_t whole = 0;
        if (!std::isnan(millis)) {
            whole = static_cast<int64_t>(millis);
        } else {
            std::string text;
            if (!textOf(date, "bsonMillis", &text)) {
                return false;
            }
            const auto parsed = std::from_chars(text.data(), text.data() + text.size(), whole);
            if (parsed.ec != std::errc()) {
                return throwError(cx_, "an invalid Date cannot be stored");
            }
        }
        to.add(name, bson::Date{whole});
        return true;
    }

    bool addRegExp(bson::Builder& to, std::string_view name, JS::HandleObject regex) {
        std::string pattern;
        bool found = false;
        if (!JS_HasOwnProperty(cx_, regex, "bsonPattern", &found) ||
            !textOf(regex, found ? "bsonPattern" : "source", &pattern)) {
            return false;
        }
        const JS::RegExpFlags flags = JS::GetRegExpFlags(cx_, regex);
        std::string options;
        options.append(flags.ignoreCase() ? "i" : "").append(flags.multiline() ? "m" : "");
        options.append(flags.dotAll() ? "s" : "");
        to.add(name, bson::Regex{pattern, options});
        return true;
    }

    bool addOfClass(bson::Builder& to, std::string_view name, JS::HandleObject from, Kind kind) {
        switch (kind) {
            case Kind::kObjectId:
                return addObjectId(to, name, from);
            case Kind::kLong:
            case Kind::kTimestamp:
                return addWords(to, name, from, kind);
            case Kind::kInt32:
            case Kind::kDouble:
                return addNumberOf(to, name, from, kind);
            case Kind::kDecimal128:
                return addDecimal(to, name, from);
            case Kind::kBinary:
            case Kind::kUuid:
                return addBinary(to, name, from);
            case Kind::kBsonRegExp: {
                std::string pattern;
                std::string options;
                if (!textOf(from, "pattern", &pattern) || !textOf(from, "options", &options)) {
                    return false;
                }
                to.add(name, bson::Regex{pattern, options});
                return true;
            }
            case Kind::kCode:
                return addCode(to, name, from);
            case Kind::kBsonSymbol: {
                std::string text;
                if (!textOf(from, "value", &text)) {
                    return false;
                }
                to.addRaw(name, bson::Type::kSymbol, stringValue(text));
                return true;
            }
            case Kind::kDbPointer:
                return addPointer(to, name, from);
            default:
                kind == Kind::kMinKey ? to.add(name, bson::MinKey()) : to.add(name, bson::MaxKey());
                return true;
        }
    }

    bool readObjectId(JS::HandleObject from, bson::ObjectId* out) {
        std::string hex;
        if (!textOf(from, "hex", &hex)) {
            return false;
        }
        return unhex(hex, out->bytes, sizeof out->bytes) ||
               throwError(cx_, "this ObjectId has no 24 hexadecimal digits");
    }

    static bool unhex(const std::string& hex, char* out, size_t bytes) {
        if (hex.size() != bytes * 2) {
            return false;
        }
        for (size_t at = 0; at < bytes; ++at) {
            const int high = hexDigit(hex[at * 2]);
            const int low = hexDigit(hex[at * 2 + 1]);
            if (high < 0 || low < 0) {
                return false;
            }
            out[at] = static_cast<char>(high * 16 + low);
        }
        return true;
    }

    bool addObjectId(bson::Builder& to, std::string_view name, JS::HandleObject from) {
        bson::ObjectId id;
        if (!readObjectId(from, &id)) {
            return false;
        }
        to.add(name, id);
        return true;
    }

    bool addWords(bson::Builder& to, std::string_view name, JS::HandleObject from, Kind kind) {
        uint32_t high = 0;
        uint32_t low = 0;
        if (!wordOf(from, kind == Kind::kLong ? "high" : "t", &high) ||
            !wordOf(from, kind == Kind::kLong ? "low" : "i", &low)) {
            return false;
        }
        const uint64_t whole = (static_cast<uint64_t>(high) << 32) | low;
        kind == Kind::kLong ? to.add(name, static_cast<int64_t>(whole))
                            : to.add(name, bson::Timestamp{whole});
        return true;
    }

    bool addNumberOf(bson::Builder& to, std::string_view name, JS::HandleObject from, Kind kind) {
        JS::RootedValue value(cx_);
        double number = 0;
        if (!JS_GetProperty(cx_, from, "value", &value) || !JS::ToNumber(cx_, value, &number)) {
            return false;
        }
        kind == Kind::kInt32 ? to.add(name, JS::ToInt32(number)) : to.add(name, number);
        return true;
    }

    bool addDecimal(bson::Builder& to, std::string_view name, JS::HandleObject from) {
        std::string hex;
        char bytes[16];
        if (!textOf(from, "bits", &hex)) {
            return false;
        }
        if (!unhex(hex, bytes, sizeof bytes)) {
            return throwError(cx_, "this Decimal128 has no value");
        }
        bson::Decimal128 value;
        for (int at = 0; at < 8; ++at) {
            value.high = value.high << 8 | static_cast<uint8_t>(bytes[at]);
            value.low = value.low << 8 | static_cast<uint8_t>(bytes[at + 8]);
        }
        to.add(name, value);
        return true;
    }

    bool addBinary(bson::Builder& to, std::string_view name, JS::HandleObject from) {
        uint32_t subtype = 0;
        JS::RootedValue buffer(cx_);
        if (!wordOf(from, "sub_type", &subtype) || !JS_GetProperty(cx_, from, "buffer", &buffer)) {
            return false;
        }
        JS::RootedObject bytes(cx_, buffer.isObject() ? &buffer.toObject() : nullptr);
        if (bytes == nullptr || !JS_IsUint8Array(bytes)) {
            return throwError(cx_, "this Binary has no bytes");
        }
        to.add(name, bson::Binary{static_cast<uint8_t>(subtype), bytesOf(bytes)});
        return true;
    }

    /// Valid until the next call into the engine.
    static ByteView bytesOf(JSObject* array) {
        JS::AutoCheckCannotGC noGc;
        bool isShared = false;
        const uint8_t* data = JS_GetUint8ArrayData(array, &isShared, noGc);
        return {reinterpret_cast<const char*>(data), JS_GetTypedArrayByteLength(array)};
    }

    bool addCode(bson::Builder& to, std::string_view name, JS::HandleObject from) {
        std::string text;
        JS::RootedValue scope(cx_);
        if (!textOf(from, "code", &text) || !JS_GetProperty(cx_, from, "scope", &scope)) {
            return false;
        }
        if (!scope.isObject()) {
            to.addCode(name, text);
            return true;
        }
        JS::RootedObject variables(cx_, &scope.toObject());
        bson::Builder inner;
        if (!deeper() || !addFields(inner, variables) || !shallower()) {
            return false;
        }
        const std::string document = inner.finish();
        const std::string code = stringValue(text);
        std::string whole(4, '\0');
        storeLe<uint32_t>(whole.data(),
                          static_cast<uint32_t>(whole.size() + code.size() + document.size()));
        to.addRaw(name, bson::Type::kCodeWithScope, whole + code + document);
        return true;
    }

    bool addPointer(bson::Builder& to, std::string_view name, JS::HandleObject from) {
        std::string text;
        JS::RootedValue id(cx_);
        if (!textOf(from, "namespace", &text) || !JS_GetProperty(cx_, from, "oid", &id)) {
            return false;
        }
        bson::ObjectId bytes;
        JS::RootedObject object(cx_, id.isObject() ? &id.toObject() : nullptr);
        if (object == nullptr || !readObjectId(object, &bytes)) {
            return object != nullptr ? false : throwError(cx_, "this DBPointer has no ObjectId");
        }
        to.addRaw(name,
                  bson::Type::kDbPointer,
                  stringValue(text) + std::string(bytes.bytes, sizeof bytes.bytes));
        return true;
    }

    /// The property as text.
    bool textOf(JS::HandleObject from, const char* property, std::string* out) {
        JS::RootedValue value(cx_);
        if (!JS_GetProperty(cx_, from, property, &value)) {
            return false;
        }
        JS::RootedString text(cx_, JS::ToString(cx_, value));
        return text != nullptr && textFromJs(cx_, text, out);
    }

    bool wordOf(JS::HandleObject from, const char* property, uint32_t* out) {
        JS::RootedValue value(cx_);
        return JS_GetProperty(cx_, from, property, &value) && JS::ToUint32(cx_, value, out);
    }

    bool deeper() {
        return ++depth_ <= bson::kReplyNestingMax ||
               throwError(cx_, "the document is nested too deeply, or holds itself");
    }
    bool shallower() {
        --depth_;
        return true;
    }

    JSContext* cx_;
    const Types& types_;
    int depth_ = 0;
};

}  // namespace

bool addFromJs(JSContext* cx,
               const Types& types,
               bson::Builder& builder,
               std::string_view name,
               JS::HandleValue value) {
    return Writer(cx, types).add(builder, name, value, Note::kNone);
}

bool textFromJs(JSContext* cx, JS::HandleString text, std::string* out) {
    JSLinearString* flat = JS_EnsureLinearString(cx, text);
    if (flat == nullptr) {
        return false;
    }
    out->resize(JS::GetDeflatedUTF8StringLength(flat));
    const size_t written =
        JS::DeflateStringToUTF8Buffer(flat, mozilla::Span<char>(out->data(), out->size()));
    out->resize(written);
    return true;
}

}  // namespace freshet::script
