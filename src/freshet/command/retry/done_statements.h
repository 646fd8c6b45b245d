// SPDX-License-Identifier: Apache-2.0
/// DoneStatements: which statements of a session's newest transaction number have been done, and
/// their results, as stored in documents of config.transactions:
///   {_id: <session>, txnNum: i64, lastWriteDate: date, done: [first, last, ...],
///    results: [{stmtId: i32, n: i64, nModified: i64, upserted: <_id>, value: {...}}, ...],
///    parts: i32}
/// A statement without a result of its own was done to one document. When there is more than
/// kResultBytesMax and kRangesMax, what has been collected moves to a document of its own,
///   {_id: {..., part: i32}, txnNum, lastWriteDate, done, results}
/// so that a long batch is not rewritten as a whole each time. Parts of an older number are
/// overwritten. A number that is that of a committed transaction has {state: "committed"} and no
/// statements. Dates are rounded down to the minute: an index is kept on them. Pure; one thread.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/query/write.h"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace freshet::command {

/// First and last of each run of statements; ascending, with gaps between.
using StatementRanges = std::vector<std::pair<int32_t, int32_t>>;

/// Whether the result need not be recorded: one document found and, for an update, changed.
bool isOrdinary(const query::WriteResult& result);
/// Adds {stmtId, n, nModified, upserted, value}; the last four only if the result is not ordinary.
void addResult(int32_t statement, const query::WriteResult& result, bson::Builder* out);
/// What addResult() has added.
query::WriteResult resultOf(bson::Document stored);

/// What earlier sendings of the command have done: a session's documents, combined.
struct EarlierStatements {
    StatementRanges done;
    /// The results of statements whose result is not just "one document", by statement number.
    std::unordered_map<int32_t, query::WriteResult> results;

    /// Adds a session's document or a part. Anything in another form is ignored.
    void read(bson::Document stored);
    /// The statement's result from when it was done; null: it was not done.
    std::optional<query::WriteResult> find(int32_t statement) const;
};

class DoneStatements {
public:
    static constexpr size_t kResultBytesMax = 4096;
    static constexpr size_t kRangesMax = 128;
    static constexpr int64_t kDateStepMs = 60'000;

    /// `session`: its canonical name, see sessionName().
    explicit DoneStatements(std::string session) : session_(std::move(session)) {}

    int64_t txnNumber() const { return txnNumber_; }  // -1: none yet
    int32_t parts() const { return parts_; }  // that are stored, or were returned by write()
    /// The number is that of a transaction, which was committed.
    bool isTransaction() const { return isTransaction_; }
    /// Forgets what was done under another number.
    void startNumber(int64_t txnNumber);
    void startTransaction(int64_t txnNumber);
    /// Takes over a session's document. Anything not in the form above is ignored.
    void read(bson::Document stored);

    /// Adds a statement that is in none of the session's documents.
    void add(int32_t statement, const query::WriteResult& result);

    bson::OwnedDocument sessionId() const { return bson::OwnedDocument(session_); }
    bson::OwnedDocument partId(int32_t part) const;
    /// The documents to store now, the session's document last.
    std::vector<bson::OwnedDocument> write(int64_t wallMs);
    /// A copy's write() returned documents with `parts` parts in all, and they are stored.
    /// REQUIRES: its number is still this one's.
    void partsAreStored(int32_t parts);
    /// About how much memory it takes.
    size_t heldBytes() const;

private:
    struct Recorded {
        StatementRanges done;
        std::string results;  // documents as stored, one after the other

        size_t heldBytes() const {
            return results.capacity() + done.capacity() * sizeof(StatementRanges::value_type);
        }
    };
    /// {_id: id, txnNum: ..., lastWriteDate: ..., done: [...], results: [...]}
    void addFields(bson::Document id,
                   const Recorded& recorded,
                   int64_t wallMs,
                   bson::Builder* out) const;

    std::string session_;
    int64_t txnNumber_ = -1;
    bool isTransaction_ = false;
    int32_t parts_ = 0;
    Recorded recorded_;                // not in any part yet
    std::vector<Recorded> nextParts_;  // those that write() writes
};

}  // namespace freshet::command
