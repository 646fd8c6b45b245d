// SPDX-License-Identifier: Apache-2.0
#include "freshet/bson/json.h"
#include "freshet/script/spider/convert.h"
#include "freshet/script/spider/notes.h"

#include <js/Array.h>
#include <js/Date.h>
#include <js/Exception.h>
#include <js/PropertyAndElement.h>
#include <js/RegExp.h>
#include <js/RegExpFlags.h>
#include <js/experimental/TypedData.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace freshet::script {

namespace {

constexpr double kDateMillisMax = 8.64e15;  // JavaScript's own limit

bool isAscii(std::string_view text) {
    return std::all_of(
        text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// Text as a property key.
bool keyToJs(JSContext* cx, std::string_view name, JS::MutableHandleId id) {
    JS::RootedString text(cx);
    if (isAscii(name)) {
        text = JS_AtomizeStringN(cx, name.data(), name.size());
    } else if (!textToJs(cx, name, &text)) {
        return false;
    }
    return text != nullptr && JS_StringToId(cx, text, id);
}

class Converter {
public:
    Converter(JSContext* cx, const Types& types) : cx_(cx), types_(types) {}

    bool value(const bson::Element& element, JS::MutableHandleValue out) {
        switch (element.type()) {
            case bson::Type::kDouble:
                out.setNumber(element.doubleValue());
                return true;
            case bson::Type::kInt32:
                out.setInt32(element.int32Value());
                return true;
            case bson::Type::kBool:
                out.setBoolean(element.boolValue());
                return true;
            case bson::Type::kNull:
                out.setNull();
                return true;
            case bson::Type::kString:
                return text(element.stringValue(), out);
            case bson::Type::kObject:
            case bson::Type::kArray:
                return document(element.document(), element.isArray(), out);
            case bson::Type::kDate:
                return date(element.dateMillis(), out);
            case bson::Type::kRegex:
                return regex(element.regexValue(), out);
            case bson::Type::kUndefined:
            case bson::Type::kEnd:
                out.setUndefined();
                return true;
            default:
                return ofClass(element, out);
        }
    }

    bool document(bson::Document from, bool isArray, JS::MutableHandleValue out) {
        JS::RootedObject object(cx_);
        if (!fields(from, isArray, &object)) {
            return false;
        }
        out.setObject(*object);
        return true;
    }

    bool fields(bson::Document from, bool isArray, JS::MutableHandleObject out) {
        if (!isArray && looksLikeReference(from)) {
            return reference(from, out);
        }
        out.set(isArray ? JS::NewArrayObject(cx_, 0) : JS_NewPlainObject(cx_));
        return out && fill(from, isArray, out);
    }

private:
    bool fill(bson::Document from, bool isArray, JS::HandleObject object) {
        JS::RootedValue each(cx_);
        JS::RootedId id(cx_);
        JS::RootedObject notes(cx_);
        uint32_t index = 0;
        for (const bson::Element& element : from) {
            if (!value(element, &each)) {
                return false;
            }
            if (isArray) {
                id = JS::PropertyKey::Int(static_cast<int32_t>(index++));
            } else if (!keyToJs(cx_, element.name(), &id)) {
                return false;
            }
            const Note note = noteFor(element, types_.numbersAreDoubles());
            if (!JS_DefinePropertyById(cx_, object, id, each, JSPROP_ENUMERATE) ||
                (note != Note::kNone && !addNote(cx_, object, id, note, &notes))) {
                return false;
            }
        }
        return true;
    }

    bool text(std::string_view from, JS::MutableHandleValue out) {
        JS::RootedString made(cx_);
        if (!textToJs(cx_, from, &made)) {
            return false;
        }
        out.setString(made);
        return true;
    }

    bool date(int64_t millis, JS::MutableHandleValue out) {
        const auto time = static_cast<double>(millis);
        JS::RootedObject made(cx_, JS::NewDateObject(cx_, JS::TimeClip(time)));
        if (made == nullptr) {
            return false;
        }
        out.setObject(*made);
        return std::abs(time) <= kDateMillisMax ||
               hidden(made, "bsonMillis", std::to_string(millis));
    }

    /// A RegExp if JavaScript supports all options and can compile the pattern.
    bool regex(bson::RegexView from, JS::MutableHandleValue out) {
        JS::RegExpFlags flags(JS::RegExpFlag::NoFlags);
        bool native = true;
        for (char option : from.options) {
            native = native && (option == 'i' || option == 'm' || option == 's');
            flags = flags | (option == 'i'   ? JS::RegExpFlag::IgnoreCase
                             : option == 'm' ? JS::RegExpFlag::Multiline
                                             : JS::RegExpFlag::DotAll);
        }
        JS::RootedString pattern(cx_);
        if (!textToJs(cx_, from.pattern, &pattern)) {
            return false;
        }
        if (native) {
            const std::u16string wide = toWide(pattern);
            JS::RootedObject made(cx_, JS::NewUCRegExpObject(cx_, wide.data(), wide.size(), flags));
            if (made != nullptr) {
                out.setObject(*made);
                return hidden(made, "bsonPattern", from.pattern);
            }
            JS_ClearPendingException(cx_);
        }
        JS::RootedObject object(cx_, instance(Kind::kBsonRegExp));
        out.setObjectOrNull(object);
        return object != nullptr && property(object, "pattern", pattern) &&
               textProperty(object, "options", from.options);
    }

    std::u16string toWide(JS::HandleString text) {
        std::u16string wide(JS_GetStringLength(text), u'\0');
        mozilla::Range<char16_t> range(wide.data(), wide.size());
        if (!JS_CopyStringChars(cx_, range, text)) {
            JS_ClearPendingException(cx_);
        }
        return wide;
    }

    bool ofClass(const bson::Element& from, JS::MutableHandleValue out) {
        JS::RootedObject object(cx_, instance(kindOf(from)));
        if (object == nullptr) {
            return false;
        }
        out.setObject(*object);
        switch (from.type()) {
            case bson::Type::kObjectId: {
                bson::ObjectId id;
                std::memcpy(id.bytes, from.objectIdBytes().data(), sizeof id.bytes);
                return textProperty(object, "hex", id.toHex());
            }
            case bson::Type::kInt64:
                return pair(object, "high", from.int64Value() >> 32, "low", from.int64Value());
            case bson::Type::kTimestamp:
                return unsignedPair(object, from.timestampValue());
            case bson::Type::kDecimal:
                return textProperty(object, "bits", hexOf(from.decimalValue()));
            case bson::Type::kBinary:
                return binary(object, from.binaryValue());
            case bson::Type::kCode:
            case bson::Type::kCodeWithScope:
                return code(object, from);
            case bson::Type::kSymbol:
                return textProperty(object, "value", from.stringValue());
            case bson::Type::kDbPointer:
                return pointer(object, from);
            default:  // MinKey and MaxKey have no contents
                return true;
        }
    }

    static Kind kindOf(const bson::Element& from) {
        switch (from.type()) {
            case bson::Type::kObjectId:
                return Kind::kObjectId;
            case bson::Type::kInt64:
                return Kind::kLong;
            case bson::Type::kTimestamp:
                return Kind::kTimestamp;
            case bson::Type::kDecimal:
                return Kind::kDecimal128;
            case bson::Type::kBinary:
                return isUuid(from.binaryValue()) ? Kind::kUuid : Kind::kBinary;
            case bson::Type::kCode:
            case bson::Type::kCodeWithScope:
                return Kind::kCode;
            case bson::Type::kSymbol:
                return Kind::kBsonSymbol;
            case bson::Type::kDbPointer:
                return Kind::kDbPointer;
            default:
                return from.type() == bson::Type::kMinKey ? Kind::kMinKey : Kind::kMaxKey;
        }
    }

    static bool isUuid(const bson::Binary& from) {
        constexpr uint8_t kUuidSubtype = 4;
        constexpr size_t kUuidBytes = 16;
        return from.subtype == kUuidSubtype && from.bytes.size() == kUuidBytes;
    }

    bool binary(JS::HandleObject object, const bson::Binary& from) {
        JS::RootedObject bytes(cx_, JS_NewUint8Array(cx_, from.bytes.size()));
        if (bytes == nullptr) {
            return false;
        }
        {
            JS::AutoCheckCannotGC noGc;
            bool isShared = false;
            uint8_t* to = JS_GetUint8ArrayData(bytes, &isShared, noGc);
            std::memcpy(to, from.bytes.data(), from.bytes.size());
        }
        JS::RootedValue value(cx_, JS::ObjectValue(*bytes));
        JS::RootedValue subtype(cx_, JS::Int32Value(from.subtype));
        return JS_DefineProperty(cx_, object, "sub_type", subtype, 0) &&
               JS_DefineProperty(cx_, object, "buffer", value, 0);
    }

    bool code(JS::HandleObject object, const bson::Element& from) {
        JS::RootedValue scope(cx_);
        if (from.type() == bson::Type::kCodeWithScope) {
            JS::RootedObject variables(cx_, JS_NewPlainObject(cx_));
            if (variables == nullptr || !fill(from.document(), false, variables)) {
                return false;
            }
            scope.setObject(*variables);
        }
        return textProperty(object, "code", from.stringValue()) &&
               JS_DefineProperty(cx_, object, "scope", scope, 0);
    }

    bool pointer(JS::HandleObject object, const bson::Element& from) {
        JS::RootedObject id(cx_, instance(Kind::kObjectId));
        bson::ObjectId bytes;
        const ByteView value = from.value();
        std::memcpy(
            bytes.bytes, value.data() + value.size() - sizeof bytes.bytes, sizeof bytes.bytes);
        JS::RootedValue idValue(cx_, JS::ObjectOrNullValue(id));
        return id != nullptr && textProperty(id, "hex", bytes.toHex()) &&
               textProperty(object, "namespace", from.stringValue()) &&
               JS_DefineProperty(cx_, object, "oid", idValue, 0);
    }

    /// {$ref, $id, $db, ...} in exactly this order; otherwise it could not be written back
    /// unchanged.
    static bool looksLikeReference(bson::Document from) {
        auto at = from.begin();
        if (at == from.end() || at->name() != "$ref" || !at->isString() || ++at == from.end() ||
            at->name() != "$id") {
            return false;
        }
        if (++at != from.end() && at->name() == "$db" && at->isString()) {
            ++at;
        }
        for (; at != from.end(); ++at) {
            if (at->name().starts_with('$')) {
                return false;
            }
        }
        return true;
    }

    bool reference(bson::Document from, JS::MutableHandleObject out) {
        out.set(instance(Kind::kDbRef));
        return out && fill(from, false, out);
    }

    JSObject* instance(Kind kind) {
        JS::RootedObject prototype(cx_, types_.prototypeOf(kind));
        return JS_NewObjectWithGivenProto(cx_, nullptr, prototype);
    }

    bool property(JS::HandleObject object, const char* name, JS::HandleString text) {
        JS::RootedValue value(cx_, JS::StringValue(text));
        return JS_DefineProperty(cx_, object, name, value, 0);
    }
    bool textProperty(JS::HandleObject object, const char* name, std::string_view text) {
        JS::RootedString made(cx_);
        return textToJs(cx_, text, &made) && property(object, name, made);
    }
    bool hidden(JS::HandleObject object, const char* name, std::string_view text) {
        return textProperty(object, name, text);
    }
    bool pair(
        JS::HandleObject object, const char* first, int64_t a, const char* second, int64_t b) {
        JS::RootedValue one(cx_, JS::Int32Value(static_cast<int32_t>(a)));
        JS::RootedValue two(cx_, JS::Int32Value(static_cast<int32_t>(b)));
        return JS_DefineProperty(cx_, object, first, one, 0) &&
               JS_DefineProperty(cx_, object, second, two, 0);
    }
    bool unsignedPair(JS::HandleObject object, uint64_t value) {
        JS::RootedValue t(cx_, JS::NumberValue(static_cast<uint32_t>(value >> 32)));
        JS::RootedValue i(cx_, JS::NumberValue(static_cast<uint32_t>(value)));
        return JS_DefineProperty(cx_, object, "t", t, 0) &&
               JS_DefineProperty(cx_, object, "i", i, 0);
    }
    static std::string hexOf(const bson::Decimal128& from) {
        char text[33];
        std::snprintf(text,
                      sizeof text,
                      "%016llx%016llx",
                      static_cast<unsigned long long>(from.high),
                      static_cast<unsigned long long>(from.low));
        return text;
    }

    JSContext* cx_;
    const Types& types_;
};

}  // namespace

bool textToJs(JSContext* cx, std::string_view text, JS::MutableHandleString out) {
    if (isAscii(text)) {
        out.set(JS_NewStringCopyN(cx, text.data(), text.size()));
        return out != nullptr;
    }
    out.set(JS_NewStringCopyUTF8N(cx, JS::UTF8Chars(text.data(), text.size())));
    if (out != nullptr) {
        return true;
    }
    JS_ClearPendingException(cx);
    const std::string repaired = bson::repairedUtf8(text);
    out.set(JS_NewStringCopyUTF8N(cx, JS::UTF8Chars(repaired.data(), repaired.size())));
    return out != nullptr;
}

bool toJs(JSContext* cx,
          const Types& types,
          const bson::Element& element,
          JS::MutableHandleValue out) {
    return Converter(cx, types).value(element, out);
}

bool objectToJs(JSContext* cx,
                const Types& types,
                bson::Document document,
                bool isArray,
                JS::MutableHandleObject out) {
    return Converter(cx, types).fields(document, isArray, out);
}

}  // namespace freshet::script
