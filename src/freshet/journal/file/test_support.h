// SPDX-License-Identifier: Apache-2.0
/// For this room's tests only: small journals, and replay as a list.
#pragma once

#include "freshet/base/assert.h"
#include "freshet/journal/journal.h"
#include "freshet/platform/thread.h"
#include "freshet/testing/sim/seed.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace freshet::journal {

/// A record as replay returned it, owning its body.
struct Replayed {
    Lsn lsn = 0;
    RecordType type = RecordType::kNoop;
    uint16_t participant = 0;
    uint64_t timestamp = 0;
    std::string body;
};

/// A small ring, small segments and practically no timer: only what the test asks for happens.
inline Options smallOptions(platform::FileSystem& files) {
    Options options;
    options.files = &files;
    options.directory = "/journal";
    options.slots = 4;
    options.slotBytes = 4096;
    options.segmentBytesFirst = 64 * 1024;
    options.segmentBytesMax = 128 * 1024;
    options.commitIntervalMs = 3'600'000;
    options.dbUuid = {
        'u', 'u', 'i', 'd', '-', 'o', 'f', '-', 't', 'h', 'e', '-', 't', 'e', 's', 't'};
    return options;
}

struct Opened {
    Status status;
    std::unique_ptr<Journal> journal;
    std::vector<Replayed> records;
};

inline Opened openLog(const Options& options) {
    Opened opened;
    auto result = Journal::open(options, [&](const RecordView& record) {
        opened.records.push_back({record.lsn,
                                  record.type,
                                  record.participant,
                                  record.timestamp,
                                  std::string(record.body)});
        return Status::ok();
    });
    opened.status = result.isOk() ? Status::ok() : result.status();
    if (result.isOk()) {
        opened.journal = std::move(*result);
    }
    return opened;
}

/// Appends, waiting for room as needed.
inline Status appendWaiting(Journal& journal, AppendOp& op) {
    for (;;) {
        Status status = journal.append(op);
        if (!status.isWouldBlock()) {
            return status;
        }
        sync::blockOn(op.token());
    }
}

/// As appendWaiting, but returns WouldBlock when the ring is full because a segment is missing.
inline Status appendUnlessSegmentMissing(Journal& journal, AppendOp& op) {
    for (;;) {
        const bool isLast = journal.stats().segmentMissing;
        Status status = journal.append(op);
        if (!status.isWouldBlock() || isLast) {
            return status;
        }
        platform::yieldThread();
    }
}

inline Status waitDurable(Journal& journal, Lsn lsn) {
    for (;;) {
        sync::WaitToken token;
        Status status = journal.durable(lsn, &token);
        if (!status.isWouldBlock()) {
            return status;
        }
        sync::blockOn(token);
    }
}

inline Status waitWritten(Journal& journal, Lsn lsn) {
    for (;;) {
        sync::WaitToken token;
        Status status = journal.written(lsn, &token);
        if (!status.isWouldBlock()) {
            return status;
        }
        sync::blockOn(token);
    }
}

/// One record in a block of its own, since the call waits for it.
inline Lsn putDurable(Journal& journal, const std::string& body) {
    AppendOp op(RecordType::kCommit, 1, body);
    invariant(appendWaiting(journal, op).isOk());
    invariant(waitDurable(journal, op.lsn()).isOk());
    return op.lsn();
}

inline Lsn putWritten(Journal& journal, const std::string& body) {
    AppendOp op(RecordType::kCommit, 1, body);
    invariant(appendWaiting(journal, op).isOk());
    invariant(waitWritten(journal, op.lsn()).isOk());
    return op.lsn();
}

/// Returns when the next segment is made; the journal does not touch the disk after that until
/// asked.
inline void waitForReadySegment(Journal& journal, uint64_t segments) {
    while (journal.stats().segments < segments) {
        platform::yieldThread();
    }
}

inline std::vector<std::string> bodiesOf(const std::vector<Replayed>& records) {
    std::vector<std::string> bodies;
    for (const Replayed& record : records) {
        bodies.push_back(record.body);
    }
    return bodies;
}

using freshet::testing::testSeed;

}  // namespace freshet::journal
