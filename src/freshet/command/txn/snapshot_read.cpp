// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/txn/snapshot_read.h"

#include "freshet/command/txn/read_concern.h"

namespace freshet::command {
namespace {

/// Commits under way usually end within a microsecond.
constexpr int kTriesAtOnce = 4;
constexpr uint64_t kNapMs = 1;
/// A snapshot of now may be gone before it is taken, when memory is short.
constexpr int kTriesOfNow = 8;

/// With MongoDB's text.
Status shownError(Status status, uint64_t time) {
    return status.reason() == Reason::kSnapshotTooOld ? snapshotTooOld(time) : std::move(status);
}

}  // namespace

sync::Task<Status> findSnapshot(Invocation& call, uint64_t time, engine::Snapshot* snapshot) {
    Status status = call.services.store.findSnapshot(time, snapshot);
    for (int tries = 1; status.isWouldBlock(); ++tries) {
        Status ended;
        if (tries < kTriesAtOnce) {
            ended = call.checkInterrupt();
            co_await sync::wait(sync::WaitToken::completed());
        } else {
            ended = co_await sleepOrStop(call, kNapMs);
        }
        FRESHET_CO_RETURN_IF_ERROR(std::move(ended));
        status = call.services.store.findSnapshot(time, snapshot);
    }
    co_return shownError(std::move(status), time);
}

sync::Task<Status> runInSnapshot(Invocation& call, sync::Task<Status> read) {
    const uint64_t time = call.generic.atClusterTime;
    auto in = std::make_shared<SnapshotRead>(call.services.catalog);
    Status status;
    for (int tries = 0; tries < (time == 0 ? kTriesOfNow : 1); ++tries) {
        engine::Snapshot snapshot;
        status = co_await findSnapshot(call, time, &snapshot);
        FRESHET_CO_RETURN_IF_ERROR(status);
        in->clusterTime = snapshot.time();
        status = in->transaction.beginAt(snapshot);
        if (status.isOk()) {
            break;
        }
    }
    if (!status.isOk()) {
        co_return shownError(std::move(status), in->clusterTime);
    }
    call.snapshot = std::move(in);
    status = co_await std::move(read);
    co_return shownError(std::move(status), call.snapshot->clusterTime);
}

Status resumeSnapshot(const ClientCursor& cursor) {
    return cursor.snapshot == nullptr
               ? Status::ok()
               : shownError(cursor.snapshot->transaction.resume(), cursor.snapshot->clusterTime);
}

}  // namespace freshet::command
