// SPDX-License-Identifier: Apache-2.0
/// How the rest of the room runs scripts: by their source, in the running thread's JavaScript
/// object.
#pragma once

#include "freshet/query/expression/expression.h"
#include "freshet/query/javascript.h"

#include <string>

namespace freshet::query {

enum class ScriptUse : uint8_t { kWhere, kFunction, kAccumulator, kInternal };

/// Why no script may run here: JavaScript is disabled, or scripts are not allowed in this place.
Status checkScriptsAllowed(ScriptUse use);
/// Compiles a function for later calls; kInvalid (JSInterpreterFailure) if it is not valid
/// JavaScript.
Status prepareScript(const std::string& source);
/// Calls a function with `self` as `this` (missing: undefined). kInvalid (JSInterpreterFailure)
/// with the thrown value's text, or when it uses too much memory; kCancelled; kTimeout.
StatusOr<Value> callScript(const std::string& source,
                           const bson::Element& self,
                           bson::Document arguments);
/// As callScript() above; errors go into the context.
Value callScript(ExprContext& context, const std::string& source, bson::Document arguments);
/// Calls a map function; returns what it has emitted, as an array of {k: ..., v: ...}.
StatusOr<Value> callMap(const std::string& source, const bson::Element& self);

/// The source that a $where filter runs: the same function, with the document also as the global
/// `obj` if the function mentions it.
std::string whereSource(std::string_view source);
/// True by the rules of JavaScript.
bool isTrueInJavaScript(const Value& value);

/// A string or code, as a constant expression. `notConstant`, `wrongType`: the errors otherwise.
StatusOr<std::string> parseScript(const bson::Element& element,
                                  ExprScope* scope,
                                  const Status& notConstant,
                                  const Status& wrongType);

}  // namespace freshet::query
