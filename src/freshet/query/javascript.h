// SPDX-License-Identifier: Apache-2.0
/// JavaScript: what the scripts of an operation run in ($where, $function, $accumulator,
/// mapReduce). A thread that has one, and that is no reactor's, may run operations with scripts,
/// one at a time; on any other thread filters and pipelines with scripts are refused when they are
/// parsed.
///
/// Nothing is made before the first script of a thread runs. Each operation has globals of its own.
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
    /// Belongs to the thread that makes it, but for interrupt(); one for each thread.
    JavaScript();
    ~JavaScript();
    JavaScript(const JavaScript&) = delete;
    JavaScript& operator=(const JavaScript&) = delete;

    /// The running thread's; null: it has none.
    static JavaScript* current();

    /// An operation begins, and ends, on this thread. What its scripts have left goes at the end,
    /// which takes some milliseconds when there were any.
    void begin(const JavaScriptRules& rules);
    void end();
    /// Its scripts see each field as a global variable.
    void setGlobals(bson::OwnedDocument globals);

    /// Ends the operation's running script, and all that come after it, with kCancelled. Any
    /// thread. REQUIRES: between begin() and end().
    void interrupt();
    /// How long the running call of a function has run, in milliseconds; 0: none runs. Any thread.
    uint64_t callMillis() const;
    /// As interrupt(), because others wait for their turn and a call has run for `millis` or
    /// longer; the client is told so. Any thread. REQUIRES: between begin() and end().
    void crowdOut(uint64_t millis);

    struct Impl;  // the closet's

private:
    const std::unique_ptr<Impl> impl_;
};

/// True when one of the requests that may have scripts has some: `document` contains "$where",
/// "$function" or "$accumulator", perhaps only as text.
bool mentionsJavaScript(bson::Document document);

}  // namespace freshet::query
