// SPDX-License-Identifier: Apache-2.0
#include "freshet/script/spider/natives.h"

#include "freshet/platform/thread.h"
#include "freshet/script/spider/convert.h"

#include <js/CompilationAndEvaluation.h>
#include <js/CompileOptions.h>
#include <js/Conversions.h>
#include <js/Exception.h>
#include <js/Interrupt.h>
#include <js/Promise.h>
#include <js/PropertySpec.h>
#include <js/SourceText.h>
#include <jsfriendapi.h>

#include <algorithm>
#include <cmath>

namespace freshet::script {

namespace {

bool argumentText(JSContext* cx, const JS::CallArgs& args, unsigned index, std::string* out) {
    JS::RootedString text(cx, JS::ToString(cx, args.get(index)));
    return text != nullptr && textFromJs(cx, text, out);
}

bool evaluate(JSContext* cx, unsigned count, JS::Value* values) {
    JS::CallArgs args = JS::CallArgsFromVp(count, values);
    std::string text;
    std::string fileName;
    return argumentText(cx, args, 0, &text) && argumentText(cx, args, 1, &fileName) &&
           evaluateText(cx, text, fileName, args.rval());
}

bool isComplete(JSContext* cx, unsigned count, JS::Value* values) {
    JS::CallArgs args = JS::CallArgsFromVp(count, values);
    std::string text;
    if (!argumentText(cx, args, 0, &text)) {
        return false;
    }
    JS::RootedObject global(cx, JS::CurrentGlobalOrNull(cx));
    args.rval().setBoolean(JS_Utf8BufferIsCompilableUnit(cx, global, text.data(), text.size()));
    return true;
}

bool addReflectParse(JSContext* cx, unsigned count, JS::Value* values) {
    JS::CallArgs args = JS::CallArgsFromVp(count, values);
    args.rval().setUndefined();
    JS::RootedObject global(cx, JS::CurrentGlobalOrNull(cx));
    return JS_InitReflectParse(cx, global);
}

bool runJobs(JSContext* cx, unsigned count, JS::Value* values) {
    JS::CallArgs args = JS::CallArgsFromVp(count, values);
    args.rval().setUndefined();
    js::RunJobs(cx);
    return true;
}

/// 0 pending, 1 fulfilled, 2 rejected; undefined if it is not a promise.
bool promiseState(JSContext* cx, unsigned count, JS::Value* values) {
    JS::CallArgs args = JS::CallArgsFromVp(count, values);
    args.rval().setUndefined();
    if (args.get(0).isObject()) {
        JS::RootedObject object(cx, &args.get(0).toObject());
        if (JS::IsPromiseObject(object)) {
            args.rval().setInt32(static_cast<int32_t>(JS::GetPromiseState(object)));
        }
    }
    return true;
}

/// The value it was fulfilled with, or the reason of its rejection, which then counts as handled.
bool promiseResult(JSContext* cx, unsigned count, JS::Value* values) {
    JS::CallArgs args = JS::CallArgsFromVp(count, values);
    JS::RootedObject object(cx, args.get(0).isObject() ? &args.get(0).toObject() : nullptr);
    if (object == nullptr || !JS::IsPromiseObject(object)) {
        args.rval().setUndefined();
        return true;
    }
    args.rval().set(JS::GetPromiseResult(object));
    return JS::SetSettledPromiseIsHandled(cx, object);
}

/// Sleeps so many milliseconds, or until the script must end.
bool sleepFor(JSContext* cx, unsigned count, JS::Value* values) {
    constexpr double kStepMs = 10;
    JS::CallArgs args = JS::CallArgsFromVp(count, values);
    args.rval().setUndefined();
    double left = 0;
    if (!JS::ToNumber(cx, args.get(0), &left)) {
        return false;
    }
    while (left > 0) {
        if (!JS_CheckForInterrupt(cx)) {
            return false;
        }
        platform::sleepMillis(static_cast<uint64_t>(std::ceil(std::min(left, kStepMs))));
        left -= kStepMs;
    }
    return true;
}

constexpr JSFunctionSpec kFunctions[] = {JS_FN("evaluate", &evaluate, 2, 0),
                                         JS_FN("isComplete", &isComplete, 1, 0),
                                         JS_FN("addReflectParse", &addReflectParse, 0, 0),
                                         JS_FN("runJobs", &runJobs, 0, 0),
                                         JS_FN("promiseState", &promiseState, 1, 0),
                                         JS_FN("promiseResult", &promiseResult, 1, 0),
                                         JS_FN("sleep", &sleepFor, 1, 0),
                                         JS_FS_END};

}  // namespace

bool defineNatives(JSContext* cx, JS::HandleObject object) {
    return JS_DefineFunctions(cx, object, kFunctions);
}

bool evaluateText(JSContext* cx,
                  std::string_view text,
                  const std::string& fileName,
                  JS::MutableHandleValue result) {
    JS::CompileOptions options(cx);
    options.setFileAndLine(fileName.c_str(), 1);
    JS::SourceText<mozilla::Utf8Unit> source;
    return source.init(cx, text.data(), text.size(), JS::SourceOwnership::Borrowed) &&
           JS::Evaluate(cx, options, source, result);
}

}  // namespace freshet::script
