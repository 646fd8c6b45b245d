// SPDX-License-Identifier: Apache-2.0
/// SessionRecords: the records of sessions in memory, in front of the documents of
/// config.transactions (done_statements.h). A write with a transaction number adds an event to its
/// commit (kStatement, kTransaction) and changes the record here; the document is written later, by
/// RecordStorer. A record that is stored may be forgotten: the next use reads the document again.
///
/// A record needs the log from `committingFrom`, `unstoredFrom` and `storingFrom`, whichever is
/// lowest, on. INV: an event that is in no document has an LSN at or above one of these, from
/// before its commit until the document is committed.
///
/// Any thread: the table is divided into shards, each with a mutex that is a leaf. REQUIRES, where
/// a session is used: its turn (SessionTurns), so one command at a time.
#pragma once

#include "freshet/command/retry/done_statements.h"
#include "freshet/command/session_records.h"
#include "freshet/sync/mutex.h"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace freshet::command {

class SessionRecords final : public engine::EventKeeper {
    struct Record {
        explicit Record(DoneStatements its) : done(std::move(its)) {}

        DoneStatements done;
        int64_t lastWriteMs = 0;
        journal::Lsn committingFrom = kNone;  // of a commit that may be under way
        journal::Lsn unstoredFrom = kNone;    // of what is not in the documents
        journal::Lsn storingFrom = kNone;     // of what is being stored
        uint32_t uses = 0;
        bool isWhole = true;  // false: replayed, and what is stored was not read yet
        size_t bytes = 0;     // as counted

        journal::Lsn neededFrom() const;
        bool mayBeForgotten() const;
    };
    using Records = std::unordered_map<std::string, Record>;
    struct Shard {
        sync::Mutex mutex;
        Records records;   // guarded by mutex; addresses stay
        size_t bytes = 0;  // guarded by mutex
    };

public:
    static constexpr size_t kShards = 64;
    /// A record is needed for the thirty minutes of a session, plus the rounding of dates.
    static constexpr int64_t kNeededSeconds = 31 * 60;

    /// Records beyond that are stored and forgotten at once. Before the first use.
    void setBytesMax(uint64_t bytes) { shardBytesMax_ = bytes / kShards; }
    static uint64_t bytesMaxFor(uint64_t requestBytes);

    /// How a record is used by the command that has the session's turn; as long as this exists it
    /// stays in memory.
    class Use {
    public:
        Use() = default;
        Use(Use&& other) noexcept { *this = std::move(other); }
        Use& operator=(Use&& other) noexcept {
            std::swap(all_, other.all_);
            std::swap(shard_, other.shard_);
            std::swap(record_, other.record_);
            return *this;
        }
        ~Use();
        explicit operator bool() const { return record_ != nullptr; }

        int64_t txnNumber() const { return record_->second.done.txnNumber(); }  // -1: none yet
        bool isTransaction() const { return record_->second.done.isTransaction(); }
        DoneStatements copy() const;

        /// A commit with an event begins, whose LSN will be at `from` or above. Each is followed by
        /// one of the next three.
        void beginCommit(journal::Lsn from);
        void hasFailed();
        /// True, of both: there is too much in memory, and the session's record must be stored now.
        bool hasDone(int64_t txnNumber,
                     int32_t statement,
                     const query::WriteResult& result,
                     int64_t wallMs);
        bool hasCommittedTransaction(int64_t txnNumber, int64_t wallMs);

    private:
        friend class SessionRecords;
        using Place = Records::value_type;
        /// Changes the record as `change` says. REQUIRES: a commit has succeeded.
        template <typename Change>
        bool changeCommitted(int64_t wallMs, Change change);

        SessionRecords* all_ = nullptr;
        Shard* shard_ = nullptr;
        Place* record_ = nullptr;
    };
    /// Empty: not in memory. Read the session's document, then add().
    Use find(const std::string& session);
    /// `stored`: what the documents say.
    Use add(const std::string& session, DoneStatements stored);

    /// What is to be stored of one session.
    struct ToStore {
        std::string session;
        int64_t txnNumber = -1;
        int32_t parts = 0;
        std::vector<bson::OwnedDocument> documents;
    };
    /// Of all sessions in a shard that have something to be stored. *hasOthers: some of it is being
    /// stored by another thread. Each is followed by storingEnded().
    std::vector<ToStore> takeUnstored(size_t shard, bool* hasOthers);
    std::optional<ToStore> takeUnstored(const std::string& session);
    void storingEnded(const ToStore& what, bool isStored);
    /// Whether takeUnstored() may have something to take.
    bool hasUnstored();

    /// Forgets stored records that were not changed since `beforeWallMs`.
    void forgetStored(int64_t beforeWallMs = INT64_MAX);
    /// The same where they take much memory.
    void makeRoom();
    size_t countForTest();

    /// Sessions whose records were replayed, and must be merged with what is stored before any use.
    std::vector<std::string> replayedSessions();
    /// `stored`, `earlier`: what the session's documents say.
    void merge(const std::string& session, DoneStatements stored, const EarlierStatements& earlier);
    /// Forgets replayed records that are not needed any more.
    void forgetReplayed(int64_t beforeWallMs);

    /// Called, with a mutex held, when records should be stored soon; null: nobody stores.
    void setWaker(std::function<void()> waker);

    // engine::EventKeeper:
    void replayed(ByteView event, journal::Lsn lsn, int64_t wallMs) override;
    void checkpointBegins() override { wake(); }
    journal::Lsn neededFrom() override;

private:
    Shard& shardOf(const std::string& session);
    void wake();
    static std::optional<ToStore> take(Records::value_type& record, bool* hasOthers);
    // REQUIRES: the shard's mutex.
    template <typename Condition>
    static void forgetIf(Shard& shard, Condition condition);
    static void recount(Shard& shard, Record& record);
    static Records::iterator erase(Shard& shard, Records::iterator record);
    bool isFull(const Shard& shard) const { return shard.bytes > shardBytesMax_; }
    bool isHalfFull(const Shard& shard) const { return shard.bytes > shardBytesMax_ / 2; }

    std::array<Shard, kShards> shards_;
    uint64_t shardBytesMax_ = bytesMaxFor(0) / kShards;
    sync::Mutex wakerMutex_;
    std::function<void()> waker_;  // guarded by wakerMutex_
};

}  // namespace freshet::command
