// SPDX-License-Identifier: Apache-2.0
/// The slow query log: one line (id 51803) for each operation that took longer than the threshold
/// of the `profile` command, and one for passes over a reactor's run queue that took long.
#pragma once

#include "freshet/command/run/invocation.h"

namespace freshet::command {

/// How an operation ended.
struct OperationEnd {
    const Status& status;
    uint64_t micros = 0;
    size_t replyBytes = 0;

    int64_t millis() const { return static_cast<int64_t>(micros / 1'000); }
};

/// It took as long as a slow one, and the sample rate lets it through.
bool isSlow(const Invocation& call, const OperationEnd& end);
void logSlow(const Invocation& call, const OperationEnd& end);

/// What logs and profiles show of the command: of an update or delete with one statement that
/// statement.
bson::OwnedDocument presentedCommand(const Invocation& call);

/// Which command had a reactor's thread when a pass over its run queue took long. A thread has its
/// own; nothing of it is shared.
class LongPasses {
public:
    /// Around each pass, on its thread. Elsewhere the rest does nothing.
    static void passBegan() { inPass_ = true; }
    static void passEnded() {
        inPass_ = false;
        running_ = nullptr;
    }

    /// From now on the thread is this connection's, whose operation has begun or goes on.
    static void enter(const ConnectionRecord& record, uint64_t nowNanos) {
        if (inPass_) {
            if (running_ != nullptr && elapsed(nowNanos) >= kWorthNanos) {
                keep(running_->running(), nowNanos);
            }
            running_ = &record;
            since_ = nowNanos;
        }
    }
    /// The operation has ended.
    static void leave(const Invocation& call, uint64_t nowNanos) {
        if (running_ == &call.connection) {
            running_ = nullptr;
            if (elapsed(nowNanos) >= kWorthNanos) {
                keep(namesOf(call), nowNanos);
            }
        }
    }
    /// The connection ends.
    static void forget(const ConnectionRecord& record) {
        if (running_ == &record) {
            running_ = nullptr;
        }
    }
    /// The pass that ends now has taken so long: a line in the log, at most one a second for each
    /// thread, with the command that had most of it, as far as is known.
    static void tell(uint64_t nanos);

private:
    static constexpr uint64_t kWorthNanos = 10'000'000;

    static uint64_t elapsed(uint64_t nowNanos) { return nowNanos > since_ ? nowNanos - since_ : 0; }
    static OperationNames namesOf(const Invocation& call);
    static void keep(OperationNames names, uint64_t nowNanos);

    inline static thread_local bool inPass_ = false;
    inline static thread_local const ConnectionRecord* running_ = nullptr;
    inline static thread_local uint64_t since_ = 0;
};

}  // namespace freshet::command
