// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/retry/record_storer.h"

#include "freshet/command/background/block_on.h"
#include "freshet/command/run/invocation.h"
#include "freshet/platform/clock.h"
#include "freshet/telemetry/log.h"

#include <chrono>

namespace freshet::command {
namespace {

/// What one transaction stores.
constexpr size_t kBatchBytes = 256 << 10;
/// After a failure.
constexpr std::chrono::milliseconds kRest{100};

size_t bytesOf(const SessionRecords::ToStore& one) {
    size_t bytes = 0;
    for (const bson::OwnedDocument& document : one.documents) {
        bytes += document.bytes().size();
    }
    return bytes;
}

}  // namespace

StoreRecords::StoreRecords(catalog::Catalog& catalog,
                           SessionRecords& records,
                           const std::string& session)
    : catalog_(catalog), records_(records), shard_(SessionRecords::kShards) {
    if (auto one = records.takeUnstored(session)) {
        taken_.push_back(*std::move(one));
    }
}

Status StoreRecords::run() {
    for (;;) {
        if (store_.has_value()) {
            Status status = store_->run();
            if (status.isWouldBlock()) {
                return status;
            }
            FRESHET_RETURN_IF_ERROR(endBatch(std::move(status)));
        } else if (end_ < taken_.size()) {
            startBatch();
        } else if (shard_ < SessionRecords::kShards) {
            taken_ = records_.takeUnstored(shard_++, &hasOthers_);
            begin_ = end_ = 0;
        } else if (waitsForOthers_ && hasOthers_) {
            hasOthers_ = false;
            shard_ = 0;
            token_ = sync::WaitToken::completed();
            return Status::wouldBlock();
        } else {
            return Status::ok();
        }
    }
}

void StoreRecords::startBatch() {
    std::vector<bson::OwnedDocument> documents;
    size_t bytes = 0;
    do {
        SessionRecords::ToStore& one = taken_[end_++];
        bytes += bytesOf(one);
        std::move(one.documents.begin(), one.documents.end(), std::back_inserter(documents));
    } while (end_ < taken_.size() && bytes + bytesOf(taken_[end_]) <= kBatchBytes);
    store_.emplace(catalog_, std::move(documents));
}

Status StoreRecords::endBatch(Status status) {
    store_.reset();
    for (; status.isOk() && begin_ < end_; ++begin_) {
        records_.storingEnded(taken_[begin_], true);
    }
    if (!status.isOk()) {
        giveBack();
    }
    return status;
}

void StoreRecords::giveBack() {
    store_.reset();
    for (; begin_ < taken_.size(); ++begin_) {
        records_.storingEnded(taken_[begin_], false);
    }
    end_ = begin_;
}

RecordStorer::RecordStorer(catalog::Catalog& catalog, SessionRecords& records)
    : catalog_(catalog), records_(records) {
    mergeReplayed();
    thread_ = platform::Thread("sessions", [this] { run(); });
    records_.setWaker([this] {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            isCalled_ = true;
        }
        changed_.notify_one();
    });
}

RecordStorer::~RecordStorer() {
    records_.setWaker(nullptr);
    {
        std::lock_guard<std::mutex> lock(mutex_);
        isStopping_ = true;
    }
    changed_.notify_one();
    thread_.join();
    // What fails now is in the log, and comes again with the next start.
    static_cast<void>(storeAll().isOk());
}

void RecordStorer::mergeReplayed() {
    records_.forgetReplayed(platform::wallMillis() - SessionRecords::kNeededSeconds * 1'000);
    for (const std::string& session : records_.replayedSessions()) {
        ReadSession read(catalog_, session);
        Status status = blockOnAll(read);
        DoneStatements stored = read.takeStored();
        ReadParts parts(catalog_, stored);
        if (status.isOk()) {
            status = blockOnAll(parts);
        }
        if (!status.isOk()) {
            telemetry::logError("command",
                                "A session's document in config.transactions cannot be read, so "
                                "its last writes may be done again if they are sent again: " +
                                    status.toString());
        }
        EarlierStatements earlier = parts.takeFound();
        DoneStatements last = stored;
        for (const bson::OwnedDocument& document : last.write(0)) {
            earlier.read(document.view());
        }
        records_.merge(session, std::move(stored), earlier);
    }
}

Status RecordStorer::storeAll() {
    StoreRecords all(catalog_, records_, false);
    return blockOnAll(all);
}

void RecordStorer::run() {
    bool hasFailed = false;
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return isCalled_ || isStopping_; });
        if (isStopping_) {
            return;
        }
        isCalled_ = false;
        lock.unlock();
        const Status status = storeAll();
        records_.makeRoom();
        if (!status.isOk() && !hasFailed) {
            telemetry::logWarning("command",
                                  "Storing sessions in config.transactions failed, and is tried "
                                  "again: " +
                                      status.toString());
        }
        hasFailed = !status.isOk();
        lock.lock();
        if (hasFailed) {
            changed_.wait_for(lock, kRest, [this] { return isStopping_; });
        }
    }
}

sync::Task<StatusOr<SessionRecords::Use>> useRecord(Invocation& call) {
    SessionRecords& records = *call.services.records;
    SessionRecords::Use use = records.find(call.generic.lsid);
    if (!use) {
        ReadSession read(call.services.catalog, call.generic.lsid);
        Status status = co_await drive(call, read);
        FRESHET_CO_RETURN_IF_ERROR(std::move(status));
        use = records.add(call.generic.lsid, read.takeStored());
    }
    co_return std::move(use);
}

sync::Task<StatusOr<bool>> wasCommitted(Invocation& call) {
    StatusOr<SessionRecords::Use> record = co_await useRecord(call);
    FRESHET_CO_RETURN_IF_ERROR(record.status());
    co_return record->txnNumber() == *call.generic.txnNumber && record->isTransaction();
}

sync::Task<void> storeRecord(Invocation& call) {
    StoreRecords one(call.services.catalog, *call.services.records, call.generic.lsid);
    // If it fails it is still in the log and in memory.
    const Status status = co_await driveToEnd(one);
    static_cast<void>(status.isOk());
}

sync::Task<void> showRecords(Invocation& call) {
    SessionRecords& records = *call.services.records;
    if (records.hasUnstored()) {
        StoreRecords all(call.services.catalog, records, true);
        const Status status = co_await driveToEnd(all);
        static_cast<void>(status.isOk());  // then the collection lacks something
    }
    if (isWriter(call.command, call.body())) {
        records.forgetStored();
    }
}

}  // namespace freshet::command
