// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/run/invocation.h"

#include "freshet/platform/clock.h"

namespace freshet::command {
namespace {

constexpr int kStepsMax = 128;
constexpr uint64_t kSliceNanos = 500'000;
constexpr size_t kLargeBytes = 32 * 1024;
constexpr size_t kLargeInsertBytes = 1024 * 1024;

}  // namespace

Status Invocation::checkInterrupt() const {
    return limits == nullptr ? whyInterrupted() : limits->check();
}

Status Invocation::whyInterrupted() const {
    // [shutdown.seen] ORDER relaxed: only the flag itself counts; a command that misses it now sees
    // it at the next wait.
    if (services.isShuttingDown.load(sync::kRelaxed)) {
        return Status(Code::kCancelled, Reason::kInterruptedAtShutdown, "interrupted at shutdown");
    }
    if (const Reason why = connection.interrupted(); why != Reason::kNone) {
        return Status(Code::kCancelled, why, "operation was interrupted");
    }
    if (deadlineNanos != 0 && platform::monotonicNanos() >= deadlineNanos) {
        return Status(Code::kTimeout, Reason::kMaxTimeMsExpired, "operation exceeded time limit");
    }
    return Status::ok();
}

bool isForBackground(size_t messageBytes, bool insertsDocuments) {
    return messageBytes >= (insertsDocuments ? kLargeInsertBytes : kLargeBytes);
}

bool mayTakeLong(const Invocation& call) {
    // The commands that may have scripts are those that may have expressions.
    return call.command.scripts != Command::Scripts::kNever &&
           anyDocument(call, query::mayTakeLong);
}

sync::Task<void> goToBackground(Invocation& call) {
    if (call.stay == nullptr || *call.stay || call.runsScripts) {
        co_return;
    }
    *call.stay = call.services.background.begin();
    co_await sync::moveTo(call.stay->executor());
}

void noteYield(Invocation& call, const query::PlanName& plan) {
    call.connection.showProgress(++call.stats.yields, plan);
}

StatusOr<std::string> Invocation::collectionName() const {
    const bson::Element first = *body().begin();
    if (!first.isString()) {
        return badValue("collection name has invalid type " +
                        std::string(bson::typeName(first.type())));
    }
    FRESHET_RETURN_IF_ERROR(catalog::checkNames(generic.db, first.stringValue()));
    return std::string(first.stringValue());
}

StatusOr<catalog::CollectionRef> Invocation::find(std::string_view db,
                                                  std::string_view collection) const {
    if (const Transactions::Ref in = reads(); in != nullptr) {
        return in->find(db, collection);
    }
    return services.catalog.find(db, collection);
}

StatusOr<std::vector<bson::Document>> Invocation::documents(std::string_view field) const {
    for (const wire::Sequence& sequence : request.sequences) {
        if (sequence.name == field) {
            return sequence.documents;
        }
    }
    Fields fields(index, command.name);
    std::vector<bson::Document> result = fields.requiredObjects(field);
    FRESHET_RETURN_IF_ERROR(fields.status());
    return result;
}

sync::Task<Status> driveChange(Invocation& call, catalog::Change& change) {
    call.hasTriedToWrite = true;
    Status status = co_await driveToEnd(change);
    if (status.isOk()) {
        status = co_await waitForDurability(call, change.commitLsn());
    }
    co_return status;
}

sync::Task<Status> waitForDurability(Invocation& call, journal::Lsn lsn) {
    if (!call.generic.waitsForDisk || call.transaction != nullptr) {  // its commit will wait
        co_return Status::ok();
    }
    journal::Journal& journal = call.services.store.journal();
    // Nothing was written: the answer ("matched, nothing to change", "exists already") still
    // depends on what others have committed, and a crash must not undo that either.
    co_return co_await waitUntilDurable(journal, lsn != 0 ? lsn : journal.tailLsn());
}

sync::Task<Status> waitUntilDurable(journal::Journal& journal, journal::Lsn lsn) {
    while (true) {
        sync::WaitToken token;
        Status status = journal.durable(lsn, &token);
        if (!status.isWouldBlock()) {
            co_return status;
        }
        co_await sync::wait(token);
    }
}

Pacer::Pacer() : startNanos_(platform::monotonicNanos()) {}

bool Pacer::isDue() {
    ++steps_;
    const uint64_t now = platform::monotonicNanos();
    if (steps_ < kStepsMax && now - startNanos_ < kSliceNanos) {
        return false;
    }
    steps_ = 0;
    startNanos_ = now;
    return true;
}

}  // namespace freshet::command
