// SPDX-License-Identifier: Apache-2.0
/// The object `native`: functions of the engine that library code needs and JavaScript does not
/// offer.
#pragma once

#include "freshet/script/spider/engine.h"

#include <string>
#include <string_view>

namespace freshet::script {

// Each returns false, with an exception pending, or without one if the script was ended.

/// evaluate(text, fileName), isComplete(text), addReflectParse(), runJobs(), promiseState(p),
/// promiseResult(p).
bool defineNatives(JSContext* cx, JS::HandleObject object);
/// Runs a script in the global scope.
bool evaluateText(JSContext* cx,
                  std::string_view text,
                  const std::string& fileName,
                  JS::MutableHandleValue result);

}  // namespace freshet::script
