// SPDX-License-Identifier: Apache-2.0
/// The slow query log: one line (id 51803) for each operation that took longer than the threshold
/// of the `profile` command, and one for each pass over a reactor's run queue that took long.
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

/// It took longer than the threshold, and the sample rate selects it.
bool isSlow(const Invocation& call, const OperationEnd& end);
void logSlow(const Invocation& call, const OperationEnd& end);

/// The command in the form that logs and profiles show: for an update or delete with one statement,
/// that statement.
bson::OwnedDocument presentedCommand(const Invocation& call);

/// Which command used a reactor's thread when a pass over its run queue took long. Each thread has
/// its own; nothing is shared.
class LongPasses {
public:
    /// At the start of each pass, on its thread. On other threads the rest does nothing.
    static void passBegan() { inPass_ = true; }
    static void passEnded() {
        inPass_ = false;
        running_ = nullptr;
    }

    /// From now on the thread works for this connection, whose operation has begun or continues.
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
    /// The pass that ends now has taken `nanos`: writes a line to the log, at most one a second for
    /// each thread, with the command that used most of the time, if known.
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
