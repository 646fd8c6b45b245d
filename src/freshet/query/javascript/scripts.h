// SPDX-License-Identifier: Apache-2.0
/// How the rest of the room runs scripts: by their source, in what belongs to the running thread.
#pragma once

#include "freshet/query/expression/expression.h"
#include "freshet/query/javascript.h"

#include <string>

namespace freshet::query {

enum class ScriptUse : uint8_t { kWhere, kFunction, kAccumulator, kInternal };

/// Why there can be no script here: JavaScript is disabled, or the place is none for it.
Status checkScriptsAllowed(ScriptUse use);
/// Compiles what will be called; kInvalid (JSInterpreterFailure) when it is no JavaScript.
Status prepareScript(const std::string& source);
/// Calls a function with `self` as `this` (missing: undefined). kInvalid (JSInterpreterFailure)
/// with the thrown value's text, or when it takes too much memory; kCancelled; kTimeout.
StatusOr<Value> callScript(const std::string& source,
                           const bson::Element& self,
                           bson::Document arguments);
/// As callScript(), into the context.
Value callScript(ExprContext& context, const std::string& source, bson::Document arguments);
/// Calls a map function; what it has emitted, as an array of {k: ..., v: ...}.
StatusOr<Value> callMap(const std::string& source, const bson::Element& self);

/// What a $where filter runs: the same function, with the document also as the global `obj` if it
/// is spoken of.
std::string whereSource(std::string_view source);
/// As JavaScript takes it.
bool isTrueInJavaScript(const Value& value);

/// A string or code, as a constant expression. `notConstant`, `wrongType`: the errors otherwise.
StatusOr<std::string> parseScript(const bson::Element& element,
                                  ExprScope* scope,
                                  const Status& notConstant,
                                  const Status& wrongType);

}  // namespace freshet::query
