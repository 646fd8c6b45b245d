// SPDX-License-Identifier: Apache-2.0
#include "freshet/script/spider/notes.h"

#include <js/PropertyAndElement.h>
#include <js/Symbol.h>

#include <cmath>

namespace freshet::script {

namespace {

JS::PropertyKey notesKey(JSContext* cx) {
    JS::RootedString name(cx, JS_AtomizeAndPinString(cx, "freshet.bsonNotes"));
    JS::Symbol* symbol = name == nullptr ? nullptr : JS::GetSymbolFor(cx, name);
    return symbol == nullptr ? JS::PropertyKey::Void() : JS::PropertyKey::Symbol(symbol);
}

}  // namespace

Note noteFor(const bson::Element& element, bool numbersAreDoubles) {
    if (element.type() == bson::Type::kUndefined) {
        return Note::kUndefined;
    }
    if (numbersAreDoubles) {
        return element.type() == bson::Type::kInt32 ? Note::kInt32 : Note::kNone;
    }
    if (element.type() != bson::Type::kDouble) {
        return Note::kNone;
    }
    const double value = element.doubleValue();
    const bool wouldBeInt32 = value >= INT32_MIN && value <= INT32_MAX &&
                              value == std::floor(value) && !(value == 0 && std::signbit(value));
    return wouldBeInt32 ? Note::kDouble : Note::kNone;
}

bool addNote(JSContext* cx,
             JS::HandleObject object,
             JS::HandleId field,
             Note note,
             JS::MutableHandleObject notes) {
    if (notes == nullptr) {
        JS::RootedId key(cx, notesKey(cx));
        notes.set(JS_NewObjectWithGivenProto(cx, nullptr, nullptr));
        JS::RootedValue value(cx, JS::ObjectOrNullValue(notes));
        if (notes == nullptr || key.isVoid() || !JS_DefinePropertyById(cx, object, key, value, 0)) {
            return false;
        }
    }
    JS::RootedValue value(cx, JS::Int32Value(static_cast<int32_t>(note)));
    return JS_DefinePropertyById(cx, notes, field, value, 0);
}

bool notesOf(JSContext* cx, JS::HandleObject object, JS::MutableHandleObject notes) {
    notes.set(nullptr);
    JS::RootedId key(cx, notesKey(cx));
    JS::RootedValue value(cx);
    if (key.isVoid() || !JS_GetPropertyById(cx, object, key, &value)) {
        return false;
    }
    if (value.isObject()) {
        notes.set(&value.toObject());
    }
    return true;
}

bool noteOf(JSContext* cx, JS::HandleObject notes, JS::HandleId field, Note* note) {
    JS::RootedValue value(cx);
    if (!JS_GetPropertyById(cx, notes, field, &value)) {
        return false;
    }
    *note = value.isInt32() ? static_cast<Note>(value.toInt32()) : Note::kNone;
    return true;
}

}  // namespace freshet::script
