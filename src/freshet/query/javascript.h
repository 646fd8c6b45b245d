// SPDX-License-Identifier: Apache-2.0
/// JavaScript: where an operation's scripts run ($where, $function, $accumulator, mapReduce). A
/// thread that has a JavaScript object, and is not a reactor thread, may run operations with
/// scripts, one at a time. On any other thread, filters and pipelines with scripts are refused when
/// they are parsed.
///
/// Nothing is created before a thread's first script runs. Each operation has globals of its own.
#pragma once

#include "freshet/bson/builder.h"

#include <cstdint>
#include <memory>
#include <string_view>

namespace freshet::query {

struct JavaScriptRules {
    bool isEnabled = true;
    uint64_t heapBytesMax = 100u << 20;
    uint32_t callMillisMax = 60'000;  // one call of a function; 0: no limit
    uint64_t deadlineNanos = 0;       // of the operation (platform::monotonicNanos()); 0: none
};

class JavaScript {
public:
    /// Belongs to the thread that creates it, except for interrupt(), callMillis() and crowdOut().
    /// At most one per thread.
    JavaScript();
    ~JavaScript();
    JavaScript(const JavaScript&) = delete;
    JavaScript& operator=(const JavaScript&) = delete;

    /// The running thread's, or null.
    static JavaScript* current();

    /// Begins and ends an operation on this thread. end() discards what the operation's scripts
    /// have left, which takes some milliseconds if any have run.
    void begin(const JavaScriptRules& rules);
    void end();
    /// Each field becomes a global variable of the operation's scripts.
    void setGlobals(bson::OwnedDocument globals);

    /// Ends the operation's running script, and every later one, with kCancelled. Any thread.
    /// REQUIRES: between begin() and end().
    void interrupt();
    /// How long the current call of a function has been running, in milliseconds; 0: no call is
    /// running. Any thread.
    uint64_t callMillis() const;
    /// Like interrupt(), but the client learns the reason: other operations wait for their turn,
    /// and a call has run for `millis` or longer. Any thread. REQUIRES: between begin() and end().
    void crowdOut(uint64_t millis);

    struct Impl;  // in javascript/javascript.cpp

private:
    const std::unique_ptr<Impl> impl_;
};

/// True when `document`, a request of a kind that may have scripts, contains "$where", "$function"
/// or "$accumulator", perhaps only as text.
bool mentionsJavaScript(bson::Document document);

}  // namespace freshet::query
