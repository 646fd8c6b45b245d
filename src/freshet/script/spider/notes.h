// SPDX-License-Identifier: Apache-2.0
/// What a number or undefined in an object was in BSON, if JavaScript would write it back as
/// another type. Kept under a symbol that is not enumerable: scripts do not see it, and copies of
/// the object do not have it.
#pragma once

#include "freshet/bson/view.h"
#include "freshet/script/spider/engine.h"

namespace freshet::script {

enum class Note : int32_t { kNone = 0, kDouble = 1, kUndefined = 2, kInt32 = 3 };

/// What must be noted about the element. `numbersAreDoubles`: see Limits.
Note noteFor(const bson::Element& element, bool numbersAreDoubles);

// These return false if an exception is pending.

/// `notes` is null before an object's first note; it is kept for the next ones.
bool addNote(JSContext* cx,
             JS::HandleObject object,
             JS::HandleId field,
             Note note,
             JS::MutableHandleObject notes);
/// Null if the object has none.
bool notesOf(JSContext* cx, JS::HandleObject object, JS::MutableHandleObject notes);
/// REQUIRES: `notes` is not null.
bool noteOf(JSContext* cx, JS::HandleObject notes, JS::HandleId field, Note* note);

}  // namespace freshet::script
