// SPDX-License-Identifier: Apache-2.0
/// DoneStatements: which statements of a session's newest transaction number have been done, and
/// what they gave back, as documents of config.transactions hold it:
///   {_id: <session>, txnNum: i64, lastWriteDate: date, done: [first, last, ...],
///    results: [{stmtId: i32, n: i64, nModified: i64, upserted: <_id>, value: {...}}, ...],
///    parts: i32}
/// A statement without a result of its own was done to one document. When there is more to tell
/// than kResultBytesMax and kRangesMax, what there is so far moves to a document of its own,
///   {_id: {..., part: i32}, txnNum, lastWriteDate, done, results}
/// so that a long batch does not write it all with each statement. Parts of an older number are
/// written over. Dates are those of the minute's begin: an index is kept by them. Pure; one thread.
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

/// First and last of statements; ascending, with gaps between.
using StatementRanges = std::vector<std::pair<int32_t, int32_t>>;

/// What a command's earlier sendings have left: what a session's documents say, put together.
struct EarlierStatements {
    StatementRanges done;
    /// What statements gave back that gave back more than "one document", by their numbers.
    std::unordered_map<int32_t, query::WriteResult> results;

    /// Adds a session's document or a part. What is not as described does not count.
    void read(bson::Document stored);
    /// What the statement gave back when it was done; null: it was not.
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
    int32_t parts() const { return parts_; }
    /// Forgets what was done under another number.
    void startNumber(int64_t txnNumber);
    /// Takes over what a session's document says. What is not as described above does not count.
    void read(bson::Document stored);

    /// One that is in none of the session's documents.
    void add(int32_t statement, const query::WriteResult& result);

    bson::OwnedDocument sessionId() const { return bson::OwnedDocument(session_); }
    bson::OwnedDocument partId(int32_t part) const;
    /// What is to be stored now, the session's document last.
    std::vector<bson::OwnedDocument> write(int64_t wallMs);

private:
    struct Told {
        StatementRanges done;
        std::string results;  // documents as stored, one behind the other
    };
    /// {_id: id, txnNum: ..., lastWriteDate: ..., done: [...], results: [...]}
    void addFields(bson::Document id, const Told& told, int64_t wallMs, bson::Builder* out) const;

    std::string session_;
    int64_t txnNumber_ = -1;
    int32_t parts_ = 0;
    Told told_;                     // of no part yet
    std::optional<Told> nextPart_;  // that write() writes
};

}  // namespace freshet::command
