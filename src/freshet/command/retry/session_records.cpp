// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/retry/session_records.h"

#include "freshet/base/assert.h"
#include "freshet/command/retry/statement_event.h"
#include "freshet/platform/clock.h"

#include <algorithm>
#include <mutex>

namespace freshet::command {
namespace {

/// A record's place in the table, beside what it holds itself.
constexpr size_t kPlaceBytes = 256;

/// The statements of `more` that `earlier` does not have.
void addMissing(DoneStatements more, const EarlierStatements& earlier, DoneStatements* to) {
    EarlierStatements all;
    for (const bson::OwnedDocument& document : more.write(0)) {
        all.read(document.view());
    }
    for (const auto& [first, last] : all.done) {
        for (int32_t statement = first; statement <= last; ++statement) {
            if (!earlier.find(statement).has_value()) {
                to->add(statement, *all.find(statement));
            }
        }
    }
}

}  // namespace

std::shared_ptr<SessionRecords> makeSessionRecords() {
    return std::make_shared<SessionRecords>();
}

engine::EventKeeper& keeperOf(SessionRecords& records) {
    return records;
}

uint64_t SessionRecords::bytesMaxFor(uint64_t requestBytes) {
    constexpr uint64_t kLeast = 16u << 20;
    constexpr uint64_t kPart = 16;
    return std::max(kLeast, requestBytes / kPart);
}

journal::Lsn SessionRecords::Record::neededFrom() const {
    return std::min({committingFrom, unstoredFrom, storingFrom});
}

bool SessionRecords::Record::mayBeForgotten() const {
    return uses == 0 && isWhole && neededFrom() == kNone;
}

SessionRecords::Shard& SessionRecords::shardOf(const std::string& session) {
    return shards_[std::hash<std::string>()(session) % kShards];
}

void SessionRecords::recount(Shard& shard, Record& record) {
    shard.bytes -= record.bytes;
    record.bytes = kPlaceBytes + 2 * record.done.heldBytes();
    shard.bytes += record.bytes;
}

SessionRecords::Records::iterator SessionRecords::erase(Shard& shard, Records::iterator record) {
    shard.bytes -= record->second.bytes;
    return shard.records.erase(record);
}

SessionRecords::Use SessionRecords::find(const std::string& session) {
    Shard& shard = shardOf(session);
    std::lock_guard<sync::Mutex> lock(shard.mutex);
    const auto found = shard.records.find(session);
    Use use;
    if (found != shard.records.end()) {
        dcheck(found->second.isWhole);
        ++found->second.uses;
        use.all_ = this;
        use.shard_ = &shard;
        use.record_ = &*found;
    }
    return use;
}

SessionRecords::Use SessionRecords::add(const std::string& session, DoneStatements stored) {
    Shard& shard = shardOf(session);
    std::lock_guard<sync::Mutex> lock(shard.mutex);
    const auto [place, isNew] = shard.records.try_emplace(session, std::move(stored));
    if (isNew) {
        recount(shard, place->second);
    }
    ++place->second.uses;
    Use use;
    use.all_ = this;
    use.shard_ = &shard;
    use.record_ = &*place;
    return use;
}

SessionRecords::Use::~Use() {
    if (record_ == nullptr) {
        return;
    }
    std::lock_guard<sync::Mutex> lock(shard_->mutex);
    Record& record = record_->second;
    --record.uses;
    const bool isNew = record.done.txnNumber() < 0;
    if (record.mayBeForgotten() && (isNew || all_->isFull(*shard_))) {
        erase(*shard_, shard_->records.find(record_->first));
    }
}

DoneStatements SessionRecords::Use::copy() const {
    std::lock_guard<sync::Mutex> lock(shard_->mutex);
    return record_->second.done;
}

void SessionRecords::Use::beginCommit(journal::Lsn from) {
    std::lock_guard<sync::Mutex> lock(shard_->mutex);
    record_->second.committingFrom = std::min(record_->second.committingFrom, from);
}

void SessionRecords::Use::hasFailed() {
    std::lock_guard<sync::Mutex> lock(shard_->mutex);
    record_->second.committingFrom = kNone;
}

template <typename Change>
bool SessionRecords::Use::changeCommitted(int64_t wallMs, Change change) {
    bool isHalfFull = false;
    bool isFull = false;
    {
        std::lock_guard<sync::Mutex> lock(shard_->mutex);
        Record& record = record_->second;
        change(record.done);
        record.unstoredFrom = std::min(record.unstoredFrom, record.committingFrom);
        record.committingFrom = kNone;
        record.lastWriteMs = wallMs;
        recount(*shard_, record);
        isFull = all_->isFull(*shard_);
        isHalfFull = all_->isHalfFull(*shard_);
    }
    if (isHalfFull) {
        all_->wake();
    }
    return isFull;
}

bool SessionRecords::Use::hasDone(int64_t txnNumber,
                                  int32_t statement,
                                  const query::WriteResult& result,
                                  int64_t wallMs) {
    return changeCommitted(wallMs, [&](DoneStatements& done) {
        if (done.txnNumber() != txnNumber) {
            done.startNumber(txnNumber);
        }
        done.add(statement, result);
    });
}

bool SessionRecords::Use::hasCommittedTransaction(int64_t txnNumber, int64_t wallMs) {
    return changeCommitted(wallMs,
                           [txnNumber](DoneStatements& done) { done.startTransaction(txnNumber); });
}

std::optional<SessionRecords::ToStore> SessionRecords::take(Records::value_type& place,
                                                            bool* hasOthers) {
    auto& [session, record] = place;
    if (record.storingFrom != kNone) {
        *hasOthers = true;
        return std::nullopt;
    }
    if (record.unstoredFrom == kNone || !record.isWhole) {
        return std::nullopt;
    }
    record.storingFrom = std::exchange(record.unstoredFrom, kNone);
    DoneStatements done = record.done;
    ToStore out;
    out.session = session;
    out.documents = done.write(record.lastWriteMs);
    out.txnNumber = done.txnNumber();
    out.parts = done.parts();
    return out;
}

std::vector<SessionRecords::ToStore> SessionRecords::takeUnstored(size_t shard, bool* hasOthers) {
    std::vector<ToStore> out;
    std::lock_guard<sync::Mutex> lock(shards_[shard].mutex);
    for (auto& place : shards_[shard].records) {
        if (std::optional<ToStore> one = take(place, hasOthers)) {
            out.push_back(*std::move(one));
        }
    }
    return out;
}

std::optional<SessionRecords::ToStore> SessionRecords::takeUnstored(const std::string& session) {
    Shard& shard = shardOf(session);
    std::lock_guard<sync::Mutex> lock(shard.mutex);
    const auto found = shard.records.find(session);
    bool hasOthers = false;
    return found == shard.records.end() ? std::nullopt : take(*found, &hasOthers);
}

void SessionRecords::storingEnded(const ToStore& what, bool isStored) {
    Shard& shard = shardOf(what.session);
    std::lock_guard<sync::Mutex> lock(shard.mutex);
    const auto found = shard.records.find(what.session);
    invariant(found != shard.records.end());  // it is needed, and so was not forgotten
    Record& record = found->second;
    const journal::Lsn from = std::exchange(record.storingFrom, kNone);
    if (!isStored) {
        record.unstoredFrom = std::min(record.unstoredFrom, from);
    } else if (record.done.txnNumber() == what.txnNumber) {
        record.done.partsAreStored(what.parts);
        recount(shard, record);
    }
}

bool SessionRecords::hasUnstored() {
    return std::any_of(shards_.begin(), shards_.end(), [](Shard& shard) {
        std::lock_guard<sync::Mutex> lock(shard.mutex);
        return std::any_of(shard.records.begin(), shard.records.end(), [](const auto& place) {
            return place.second.neededFrom() != kNone;
        });
    });
}

template <typename Condition>
void SessionRecords::forgetIf(Shard& shard, Condition condition) {
    for (auto place = shard.records.begin(); place != shard.records.end();) {
        place = condition(place->second) ? erase(shard, place) : std::next(place);
    }
}

void SessionRecords::forgetStored(int64_t beforeWallMs) {
    for (Shard& shard : shards_) {
        std::lock_guard<sync::Mutex> lock(shard.mutex);
        forgetIf(shard, [beforeWallMs](const Record& record) {
            return record.mayBeForgotten() && record.lastWriteMs < beforeWallMs;
        });
    }
}

void SessionRecords::makeRoom() {
    for (Shard& shard : shards_) {
        std::lock_guard<sync::Mutex> lock(shard.mutex);
        if (isHalfFull(shard)) {
            forgetIf(shard, [](const Record& record) { return record.mayBeForgotten(); });
        }
    }
}

void SessionRecords::forgetReplayed(int64_t beforeWallMs) {
    for (Shard& shard : shards_) {
        std::lock_guard<sync::Mutex> lock(shard.mutex);
        forgetIf(shard, [beforeWallMs](const Record& record) {
            return !record.isWhole && record.lastWriteMs < beforeWallMs;
        });
    }
}

size_t SessionRecords::countForTest() {
    size_t count = 0;
    for (Shard& shard : shards_) {
        std::lock_guard<sync::Mutex> lock(shard.mutex);
        count += shard.records.size();
    }
    return count;
}

std::vector<std::string> SessionRecords::replayedSessions() {
    std::vector<std::string> sessions;
    for (Shard& shard : shards_) {
        std::lock_guard<sync::Mutex> lock(shard.mutex);
        for (const auto& [session, record] : shard.records) {
            if (!record.isWhole) {
                sessions.push_back(session);
            }
        }
    }
    return sessions;
}

void SessionRecords::merge(const std::string& session,
                           DoneStatements stored,
                           const EarlierStatements& earlier) {
    Shard& shard = shardOf(session);
    std::lock_guard<sync::Mutex> lock(shard.mutex);
    const auto found = shard.records.find(session);
    if (found == shard.records.end()) {
        return;
    }
    Record& record = found->second;
    record.isWhole = true;
    if (stored.txnNumber() < record.done.txnNumber()) {
        return;
    }
    if (stored.txnNumber() == record.done.txnNumber() && !stored.isTransaction()) {
        addMissing(record.done, earlier, &stored);
    }
    record.done = std::move(stored);
    recount(shard, record);
}

void SessionRecords::setWaker(std::function<void()> waker) {
    std::lock_guard<sync::Mutex> lock(wakerMutex_);
    waker_ = std::move(waker);
}

void SessionRecords::wake() {
    std::lock_guard<sync::Mutex> lock(wakerMutex_);
    if (waker_) {
        waker_();
    }
}

void SessionRecords::replayed(ByteView event, journal::Lsn lsn, int64_t wallMs) {
    const std::optional<SessionEvent> its = sessionEventOf(event);
    if (!its.has_value()) {
        return;
    }
    Shard& shard = shardOf(its->session);
    std::lock_guard<sync::Mutex> lock(shard.mutex);
    Record& record =
        shard.records.try_emplace(its->session, DoneStatements(its->session)).first->second;
    record.isWhole = false;
    if (its->txnNumber < record.done.txnNumber()) {
        return;
    }
    if (!its->statement.has_value()) {
        record.done.startTransaction(its->txnNumber);
    } else {
        if (record.done.txnNumber() != its->txnNumber) {
            record.done.startNumber(its->txnNumber);
        }
        record.done.add(*its->statement, resultOf(its->result));
    }
    record.unstoredFrom = std::min(record.unstoredFrom, lsn);
    record.lastWriteMs = wallMs == 0 ? platform::wallMillis() : wallMs;
    recount(shard, record);
}

journal::Lsn SessionRecords::neededFrom() {
    journal::Lsn needed = kNone;
    for (Shard& shard : shards_) {
        std::lock_guard<sync::Mutex> lock(shard.mutex);
        for (const auto& [session, record] : shard.records) {
            needed = std::min(needed, record.neededFrom());
        }
    }
    return needed;
}

}  // namespace freshet::command
