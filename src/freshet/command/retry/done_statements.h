// SPDX-License-Identifier: Apache-2.0
/// DoneStatements: which statements of a session's newest transaction number have been done, and
/// what they gave back, as documents of config.transactions hold it:
///   {_id: <session>, txnNum: i64, lastWriteDate: date, done: [first, last, ...],
///    results: [{stmtId: i32, n: i64, nModified: i64, upserted: <_id>, value: {...}}, ...],
///    parts: i32}
/// A statement without a result of its own was done to one document. When there are more results
/// than kResultBytesMax, those so far move to a document of their own, {_id: {..., part: i32},
/// txnNum, lastWriteDate, results}, so that a long batch does not write them all with each
/// statement. Parts of an older number are written over. Dates are those of the minute's begin: an
/// index is kept by them. Pure; one thread.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/query/write.h"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace freshet::command {

/// What statements gave back that gave back more than "one document", by their numbers.
using StatementResults = std::unordered_map<int32_t, query::WriteResult>;
/// Adds those of a session's document or of a part. What is not as described does not count.
void readResults(bson::Document stored, StatementResults* out);

class DoneStatements {
public:
    static constexpr size_t kResultBytesMax = 4096;
    static constexpr int64_t kDateStepMs = 60'000;

    /// `session`: its canonical name, see sessionName().
    explicit DoneStatements(std::string session) : session_(std::move(session)) {}

    int64_t txnNumber() const { return txnNumber_; }  // -1: none yet
    int32_t parts() const { return parts_; }
    /// Forgets what was done under another number.
    void startNumber(int64_t txnNumber);
    /// Takes over what a session's document says. What is not as described above does not count.
    void read(bson::Document stored);

    bool has(int32_t statement) const;
    /// One that is not there.
    void add(int32_t statement, const query::WriteResult& result);

    bson::OwnedDocument sessionId() const { return bson::OwnedDocument(session_); }
    bson::OwnedDocument partId(int32_t part) const;
    /// What is to be stored now, the session's document last.
    std::vector<bson::OwnedDocument> write(int64_t wallMs);

private:
    /// {_id: id, txnNum: ..., lastWriteDate: ..., results: [...]}
    void addFields(bson::Document id,
                   const std::string& results,
                   int64_t wallMs,
                   bson::Builder* out) const;

    std::string session_;
    int64_t txnNumber_ = -1;
    int32_t parts_ = 0;
    std::vector<std::pair<int32_t, int32_t>> done_;  // first and last; ascending, with gaps between
    std::string results_;   // of no part yet: documents as stored, one behind the other
    std::string nextPart_;  // the same, of a part that write() writes
};

}  // namespace freshet::command
