// SPDX-License-Identifier: Apache-2.0
/// JavaScript behind one narrow door. A context has a heap, a stack and globals of its own; nothing
/// of one is seen by another. It belongs to the thread that made it, except interrupt(), and a
/// thread has one at a time.
///
/// Whatever a script does ends with a Status: an endless loop with kTimeout or kCancelled, a hog of
/// memory with kLimit, a thrown value with kInvalid and its text. The process is never at risk, but
/// for one allocation that may pass the limit before it is noticed (a string of 1 GB).
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
    /// Of the thread's stack, for JavaScript; leave the host some of it.
    uint32_t stackBytesMax = 1u << 20;
    /// Numbers that scripts make become doubles, as in a server; else int32 where they are whole,
    /// as in a shell. Either way a field that was int32 stays so while it is whole.
    bool numbersAreDoubles = false;
};

/// Called by scripts as a function: gets the arguments as an array. A status becomes a thrown
/// Error with its text and, as `status`, the name of its code.
using HostFunction = std::function<StatusOr<Value>(bson::Document arguments)>;

/// A compiled function of one context.
struct FunctionId {
    uint32_t index = 0;
};

class Context {
public:
    /// kLimit when there is not memory enough for one, kExists when the thread has one already.
    static StatusOr<std::unique_ptr<Context>> make(const Limits& limits);
    virtual ~Context() = default;
    /// As newly made: globals, functions and what was defined are gone, and so is what hung from
    /// them. Much faster than to make another.
    virtual Status startOver() = 0;

    /// Makes `function` callable as `host.<name>`. `host` is what the code of addLibrary() sees
    /// under that name; other code does not see it.
    virtual Status define(const std::string& name, HostFunction function) = 0;
    /// Runs a trusted library: its text is the body of a function (host, native, library),
    /// see README.md.
    virtual Status addLibrary(const Source& source) = 0;
    /// Runs a script in the global scope; its value is that of its last expression. What it has
    /// promised to do later is done before this returns.
    virtual StatusOr<Value> evaluate(std::string_view source, const std::string& fileName) = 0;

    /// Compiles a function expression, or the body of a function without parameters. It stays
    /// compiled as long as the context lives.
    virtual StatusOr<FunctionId> compile(std::string_view source) = 0;
    /// Calls it with `self` as `this` (missing: undefined).
    virtual StatusOr<Value> call(FunctionId function,
                                 const bson::Element& self,
                                 bson::Document arguments) = 0;
    /// Calls the function that is a property of `library`.
    virtual StatusOr<Value> callLibrary(std::string_view name, bson::Document arguments) = 0;

    /// Ends what runs, or else what runs next, with kCancelled. Any thread, and a signal's handler.
    virtual void interrupt() = 0;
    /// Takes an interrupt() back that nothing has heeded.
    virtual void clearInterrupt() = 0;
    /// From now on, so many milliseconds: then all that runs ends with kTimeout. 0: no limit.
    virtual void setTimeLimit(uint32_t milliseconds) = 0;
    /// What the heap holds, with all that hangs from it. Slow: it looks at all of it.
    virtual uint64_t heapBytes() = 0;
};

}  // namespace freshet::script
