// SPDX-License-Identifier: Apache-2.0
/// BSON to JavaScript and back. A value that is not changed in between comes back identical: what a
/// JavaScript value cannot express (1.0 or 1, a date beyond JavaScript's range, how a regular
/// expression was written) is noted where scripts do not see it.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/script/spider/types.h"

#include <string>
#include <string_view>

namespace freshet::script {

// Each returns false if an exception is pending.

bool toJs(JSContext* cx,
          const Types& types,
          const bson::Element& element,
          JS::MutableHandleValue out);
bool objectToJs(JSContext* cx,
                const Types& types,
                bson::Document document,
                bool isArray,
                JS::MutableHandleObject out);
/// Bytes that are not UTF-8 become U+FFFD.
bool textToJs(JSContext* cx, std::string_view text, JS::MutableHandleString out);

/// Adds `value` as a field; functions become code, and undefined becomes null, as in drivers.
bool addFromJs(JSContext* cx,
               const Types& types,
               bson::Builder& builder,
               std::string_view name,
               JS::HandleValue value);
bool textFromJs(JSContext* cx, JS::HandleString text, std::string* out);

}  // namespace freshet::script
