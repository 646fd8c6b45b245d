// SPDX-License-Identifier: Apache-2.0
/// The JavaScript classes for BSON types that JavaScript does not have. js/bson_types.js defines
/// them; an object is recognised by its prototype, so a document cannot imitate one.
#pragma once

#include "freshet/script/spider/engine.h"

#include <array>

namespace freshet::script {

enum class Kind : uint8_t {
    kObjectId,
    kLong,
    kInt32,
    kDouble,
    kDecimal128,
    kTimestamp,
    kBinary,
    kUuid,
    kBsonRegExp,
    kCode,
    kBsonSymbol,
    kDbPointer,
    kMinKey,
    kMaxKey,
    kDbRef,
    kCount,
};

inline constexpr std::array<const char*, static_cast<size_t>(Kind::kCount)> kKindNames = {
    "ObjectId",
    "Long",
    "Int32",
    "Double",
    "Decimal128",
    "Timestamp",
    "Binary",
    "UUID",
    "BSONRegExp",
    "Code",
    "BSONSymbol",
    "DBPointer",
    "MinKey",
    "MaxKey",
    "DBRef"};

class Types {
public:
    Types(JSContext* cx, bool numbersAreDoubles)
        : prototypes_(cx, JS::GCVector<JSObject*>(cx)),
          plain_(cx),
          numbersAreDoubles_(numbersAreDoubles) {}

    /// `classes` has a property for each of kKindNames. False: an exception is pending.
    bool init(JSContext* cx, JS::HandleObject classes) {
        JS::RootedValue constructor(cx);
        JS::RootedValue prototype(cx);
        for (const char* name : kKindNames) {
            if (!JS_GetProperty(cx, classes, name, &constructor) || !constructor.isObject()) {
                return false;
            }
            JS::RootedObject object(cx, &constructor.toObject());
            if (!JS_GetProperty(cx, object, "prototype", &prototype) || !prototype.isObject() ||
                !prototypes_.append(&prototype.toObject())) {
                return false;
            }
        }
        plain_ = JS::GetRealmObjectPrototype(cx);
        return true;
    }

    JSObject* prototypeOf(Kind kind) const {
        const auto index = static_cast<size_t>(kind);
        return index < prototypes_.length() ? prototypes_[index].get() : nullptr;
    }

    /// kCount for any other object. False: an exception is pending.
    bool kindOf(JSContext* cx, JS::HandleObject object, Kind* kind) const {
        *kind = Kind::kCount;
        JS::RootedObject prototype(cx);
        if (!JS_GetPrototype(cx, object, &prototype)) {
            return false;
        }
        if (prototype == nullptr || prototype == plain_) {
            return true;
        }
        for (size_t at = 0; at < prototypes_.length(); ++at) {
            if (prototypes_[at] == prototype) {
                *kind = static_cast<Kind>(at);
                break;
            }
        }
        return true;
    }

    /// See Limits.
    bool numbersAreDoubles() const { return numbersAreDoubles_; }

private:
    JS::PersistentRooted<JS::GCVector<JSObject*>> prototypes_;
    JS::PersistentRootedObject plain_;
    const bool numbersAreDoubles_;
};

}  // namespace freshet::script
