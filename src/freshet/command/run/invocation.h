// SPDX-License-Identifier: Apache-2.0
/// Invocation: one command from its request to its reply, and the helpers that handlers are built
/// from: driving an operation that may have to wait, and waiting for durability. Belongs to the
/// connection's executor.
#pragma once

#include "freshet/command/run/arguments.h"
#include "freshet/command/run/fields.h"
#include "freshet/command/run/operations.h"
#include "freshet/command/run/services.h"
#include "freshet/query/limits.h"
#include "freshet/wire/message.h"

/// Leaves the coroutine with the status of `expr` unless it is ok.
#define FRESHET_CO_RETURN_IF_ERROR(expr)                           \
    do {                                                           \
        if (::freshet::Status status_ = (expr); !status_.isOk()) { \
            co_return status_;                                     \
        }                                                          \
    } while (false)

namespace freshet::command {

/// What a command did, for the slow query log, the profiler and the counters.
struct OperationStats {
    query::WorkDone work{};  // of all its statements
    int64_t nReturned = -1;  // -1: not applicable
    int64_t cursorId = 0;
    uint32_t yields = 0;  // how often it waited or let others run
};

struct Invocation {
    Services& services;
    const ClientFacts& client;
    LoginState& login;
    ConnectionRecord& connection;
    const Command& command;
    const wire::Request& request;
    const BodyIndex& index;  // of the request's body
    const GenericArguments& generic;
    std::string message = wire::openOpMsg();  // the reply's; its body is `reply`
    bson::Builder reply{&message};
    bson::OwnedDocument errorInfo{};  // further fields of an error reply: {keyPattern, keyValue}
    /// Documents that go into `message` but are not stored there; null: none.
    std::unique_ptr<query::BorrowedDocuments> borrowed{};
    /// The multi-document transaction that the command is a statement of; null: none.
    Transactions::Ref transaction{};
    /// What a command with read concern snapshot outside of transactions reads in; null: none.
    SnapshotRef snapshot{};
    OperationStats stats{};
    query::OperationLimits* limits = nullptr;  // null: for commands that end within microseconds
    sync::BackgroundThreads::Stay* stay = nullptr;   // null: it cannot leave its executor
    uint64_t startNanos = 0;                         // on platform::monotonicNanos()
    uint64_t deadlineNanos = generic.deadlineNanos;  // a getMore has that of its cursor
    uint64_t awaitedNanos = 0;                       // it waited for data, which is no work
    bool hasOpenCursor = false;                      // the reply names a cursor that has more
    bool hasTriedToWrite = false;    // so a failed command reports an unmet write concern too
    bool hasErrorLabels = false;     // errorInfo has the error's labels, or it is to have none
    bool isExhaust = false;          // this reply announces another one without a request
    bool endsSession = false;        // close the connection instead of replying
    bool hasAskedAccess = false;     // see access/authorize.h
    bool runsScripts = false;        // runs on a thread for JavaScript
    bool mayTakeLong = false;        // for a single document; runs on a background thread
    bool changesUsers = false;       // cached users may be outdated afterwards
    bool mayBorrow = false;          // the reply need not be in one piece
    bool isOfChangeStream = false;   // it begins one, or reads on in one
    bool abortsTransaction = false;  // a write failed, which the reply shows as one of its results

    bson::Document body() const { return index.body(); }
    size_t borrowedBytes() const { return borrowed == nullptr ? 0 : borrowed->bytes(); }
    /// The size of the reply's body.
    size_t replyBytes() const { return message.size() - wire::kOpMsgBodyAt + borrowedBytes(); }
    /// kTimeout or kCancelled when the command must end, kLimit when it holds too much.
    Status checkInterrupt() const;
    /// The same without the check of memory.
    Status whyInterrupted() const;
    /// `db.collection`, from the command's first field. An error unless it names a collection.
    StatusOr<std::string> collectionName() const;
    std::string ns(std::string_view collection) const {
        return generic.db + "." + std::string(collection);
    }
    /// What the command reads in, and writes if it is in a transaction; null: snapshots of its own.
    Transactions::Ref reads() const {
        return snapshot == nullptr ? transaction
                                   : Transactions::Ref(snapshot, &snapshot->transaction);
    }
    query::WorkUnit unit() const { return {services.store, reads().get()}; }
    /// The collection as the command sees it; null if there is none. An error only if it reads()
    /// in a transaction: see query::Transaction::find().
    StatusOr<catalog::CollectionRef> find(std::string_view db, std::string_view collection) const;
    /// The documents of a kind-1 section or of the array in the body.
    StatusOr<std::vector<bson::Document>> documents(std::string_view field) const;
};

/// Whether a message of that many bytes is handled on a background thread from its first byte on.
/// Documents to insert are parsed at memory speed and inserted one by one, so their limit is
/// higher.
bool isForBackground(size_t messageBytes, bool insertsDocuments);
/// Whether the command may take long for a single document, as query::mayTakeLong() says.
bool mayTakeLong(const Invocation& call);
/// From here on the command runs on a background thread, if it can.
sync::Task<void> goToBackground(Invocation& call);

/// Returns when `token` is complete, or with the status that says why the command must end. In the
/// latter case the token's waiter has been withdrawn: a later completion wakes nothing. Returns at
/// `untilNanos` (platform::monotonicNanos(), 0: never) as well, whether the token is complete or
/// not.
sync::Task<Status> waitOrStop(Invocation& call, sync::WaitToken token, uint64_t untilNanos = 0);
/// Waits for `ms` milliseconds, or until the command must end.
sync::Task<Status> sleepOrStop(Invocation& call, uint64_t ms);

/// Called when the command is going to wait or lets others run: counts it, and shows currentOp the
/// plan.
void noteYield(Invocation& call, const query::PlanName& plan);
template <typename Op>
void noteYieldOf(Invocation& call, const Op& op) {
    if constexpr (requires { op.work(); }) {
        noteYield(call, op.work().plan);
    } else {
        noteYield(call, {});
    }
}

/// Calls op.run() until it returns something else than WouldBlock, waiting in between.
template <typename Op>
sync::Task<Status> drive(Invocation& call, Op& op) {
    while (true) {
        Status status = op.run();
        if (status.isWouldBlock()) {
            noteYieldOf(call, op);
            status = co_await waitOrStop(call, op.token());
            FRESHET_CO_RETURN_IF_ERROR(status);
            continue;
        }
        co_return status;
    }
}

/// The same, but ignores interrupts.
template <typename Op>
sync::Task<Status> driveToEnd(Op& op) {
    Status status = op.run();
    while (status.isWouldBlock()) {
        co_await sync::wait(op.token());
        status = op.run();
    }
    co_return status;
}

/// Drives a definition change to its end, whatever the deadline: a half-done change must not
/// remain. Then waits as the write concern requires.
sync::Task<Status> driveChange(Invocation& call, catalog::Change& change);

/// Waits until everything up to `lsn` is on stable storage.
sync::Task<Status> waitUntilDurable(journal::Journal& journal, journal::Lsn lsn);

/// Waits until the commit at `lsn` may be acknowledged. 0: nothing was written; then waits for
/// everything that the answer may depend on.
sync::Task<Status> waitForDurability(Invocation& call, journal::Lsn lsn);

/// Lets other sessions run when a command has used the thread for long.
class Pacer {
public:
    Pacer();
    /// True when it is time for `co_await sync::wait(sync::WaitToken::completed())`. Restarts the
    /// time.
    bool isDue();

private:
    uint64_t startNanos_;
    int steps_ = 0;
};

}  // namespace freshet::command
