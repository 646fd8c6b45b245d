// SPDX-License-Identifier: Apache-2.0
/// A JavaScript context behind a narrow interface. A context has its own heap, stack and globals;
/// contexts cannot see each other. It belongs to the thread that made it, except for interrupt(),
/// and a thread has only one at a time.
///
/// Every script ends with a Status: an endless loop with kTimeout or kCancelled, one that takes too
/// much memory with kLimit, a thrown value with kInvalid and the value's text. The process is not
/// at risk, except that a single allocation may exceed the limit before it is noticed (a string of
/// 1 GB).
#pragma once

#include "freshet/base/status.h"
#include "freshet/script/source.h"
#include "freshet/script/value.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace freshet::script {

struct Limits {
    uint64_t heapBytesMax = 512u << 20;
    /// Part of the thread's stack that JavaScript may use; the host needs the rest.
    uint32_t stackBytesMax = 1u << 20;
    /// True: numbers made by scripts become doubles, as in a server. False: whole numbers become
    /// int32, as in a shell. In both cases a field that was int32 stays int32 while it is whole.
    bool numbersAreDoubles = false;
};

/// A C++ function that scripts call; gets the arguments as an array. An error status becomes a
/// thrown Error with its text and, as `status`, the name of its code.
using HostFunction = std::function<StatusOr<Value>(bson::Document arguments)>;

/// A compiled function of one context.
struct FunctionId {
    uint32_t index = 0;
};

class Context {
public:
    /// kLimit when there is not enough memory for a context, kExists when the thread already has
    /// one.
    static StatusOr<std::unique_ptr<Context>> make(const Limits& limits);
    virtual ~Context() = default;
    /// Resets it to a new context: globals, functions and definitions are gone, and so is
    /// everything they referred to. Much faster than making another context.
    virtual Status startOver() = 0;

    /// Makes `function` callable as `host.<name>` for library code (addLibrary()); other code does
    /// not see `host`.
    virtual Status define(const std::string& name, HostFunction function) = 0;
    /// Runs a trusted library: its text is the body of a function (host, native, library),
    /// see README.md.
    virtual Status addLibrary(const Source& source) = 0;
    /// Runs a script in the global scope; the result is the value of its last expression. Jobs that
    /// it has queued (promises) run before this returns.
    virtual StatusOr<Value> evaluate(std::string_view source, const std::string& fileName) = 0;

    /// Compiles a function expression, or the body of a function without parameters. It stays
    /// compiled for the context's lifetime.
    virtual StatusOr<FunctionId> compile(std::string_view source) = 0;
    /// Calls a function with `self` as `this` (missing: undefined).
    virtual StatusOr<Value> call(FunctionId function,
                                 const bson::Element& self,
                                 bson::Document arguments) = 0;
    /// Calls the function that is a property of `library`.
    virtual StatusOr<Value> callLibrary(std::string_view name, bson::Document arguments) = 0;

    /// Ends the running script, or else the next one, with kCancelled. Any thread, also a signal
    /// handler.
    virtual void interrupt() = 0;
    /// Withdraws an interrupt() that has not ended anything yet.
    virtual void clearInterrupt() = 0;
    /// Sets the time from now after which everything that runs ends with kTimeout. 0: no limit.
    virtual void setTimeLimit(uint32_t milliseconds) = 0;
    /// The heap's size, including everything it refers to. Slow: it visits all of it.
    virtual uint64_t heapBytes() = 0;
};

}  // namespace freshet::script
