// SPDX-License-Identifier: Apache-2.0
/// The object `native`: what library code needs of the engine that JavaScript cannot say itself.
#pragma once

#include "freshet/script/spider/engine.h"

#include <string>
#include <string_view>

namespace freshet::script {

// Each returns false with an exception pending, or with none when the script was ended.

/// evaluate(text, fileName), isComplete(text), addReflectParse(), runJobs(), promiseState(p),
/// promiseResult(p).
bool defineNatives(JSContext* cx, JS::HandleObject object);
/// A script in the global scope.
bool evaluateText(JSContext* cx,
                  std::string_view text,
                  const std::string& fileName,
                  JS::MutableHandleValue result);

}  // namespace freshet::script
