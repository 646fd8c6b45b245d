// SPDX-License-Identifier: Apache-2.0
/// OplogWriter: the log as clients know it from MongoDB's oplog.
///
/// A commit is one entry, whose ts is the commit's: it is unique, and entries ascend by it.
///   - One operation: {op, ns, ui, o, o2, ts, t, v, wall}; with lsid, txnNumber and stmtId if it is
///     one of a retryable write.
///   - A transaction of several statements, or a definition change that is several operations
///     (a dropped database, an index on a collection that it creates, several indexes): {op: "c",
///     ns: "admin.$cmd", o: {applyOps: [{op, ns, ui, o, o2}, ...]}, ts, t, v, wall}, with lsid,
///     txnNumber and prevOpTime if it is a transaction.
///   - One that would be larger than a document can be is several entries with one ts; all but the
///     last have partialTxn: true, and the last has the number of operations as count.
///
/// Operations: "i" with the document; "u" with {$v: 2, diff: {...}} or, for replacements, the
/// document, and in o2 its {_id}; "d" with {_id}; "c" with create, drop, renameCollection,
/// dropDatabase, createIndexes and dropIndexes (each with one index), collMod.
///
/// Thread rule: one thread at a time.
#pragma once

#include "freshet/base/status.h"
#include "freshet/bson/builder.h"
#include "freshet/command/stream/committed_event.h"

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace freshet::command {

/// The term of every entry: there were no elections.
inline constexpr int64_t kOplogTerm = 1;

/// Adds {ts, t, v, wall}, which each entry has.
void addEntryEnd(uint64_t timestamp, int64_t wallMs, bson::Builder* entry);

class OplogWriter {
public:
    /// Where an entry is begun anew.
    static constexpr uint64_t kEntryBytesMax = bson::kDocumentBytesMax;

    explicit OplogWriter(uint64_t entryBytesMax = kEntryBytesMax) : entryBytesMax_(entryBytesMax) {}

    /// The log's next event. kCorruption: it does not belong to its document.
    Status add(const CommittedEvent& committed);

    /// Takes the next entry that is complete. False: none before further events.
    bool take(bson::OwnedDocument* entry);

    /// No commit has begun and not ended, and no entry waits.
    bool isEmpty() const { return operations_ == 0 && finished_.empty(); }
    uint64_t heldBytes() const { return batch_.capacity() + finishedBytes_; }

private:
    Status addOperations(const CommittedEvent& committed);
    Status addUpdate(const CommittedEvent& committed);
    void addIndexes(const CommittedEvent& committed);
    void addDefinition(const CommittedEvent& committed);
    void addOperation(const CommittedEvent& committed,
                      std::string_view op,
                      bson::Document o,
                      bson::Document o2 = {});
    void finishCommit(const CommittedEvent& committed);
    void finishSingle(const CommittedEvent& committed);
    void finishBatch(const CommittedEvent& committed, bool isLast);
    void finish(const CommittedEvent& committed, bson::Builder* entry);

    const uint64_t entryBytesMax_;
    std::string batch_;  // the operations of the entry that is being made, one after another
    uint64_t batchCount_ = 0;
    int64_t operations_ = 0;      // of the commit
    int64_t partialEntries_ = 0;  // of the commit
    std::deque<bson::OwnedDocument> finished_;
    uint64_t finishedBytes_ = 0;
};

}  // namespace freshet::command
