// SPDX-License-Identifier: Apache-2.0
/// The journal: an append-only sequence of records in segment files, written through consolidated
/// slots (DESIGN 8; source: "Breaking the WiredTiger Logjam"). A committer joins the active slot by
/// one CAS on a packed word, copies its record at once and releases; nobody leads, waits or spins.
/// Whoever finishes a closed slot writes it; one flush covers all that arrived while the previous
/// one ran.
///
/// Threads: every method may be called by any thread and never blocks; what must wait returns
/// WouldBlock with a token. open() and close() block and are for start and stop; recycle() blocks
/// and is for a background thread.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/base/status.h"
#include "freshet/platform/file.h"
#include "freshet/sync/wait_token.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace freshet::journal {

/// Position in the log: slot number << 24 | byte offset in the slot. Logical: rises with the log
/// and never repeats; where the bytes lie in a file is the journal's affair.
using Lsn = uint64_t;

enum class RecordType : uint8_t { kCommit = 1, kCheckpointDone = 2, kNoop = 4 };

/// A record that replay hands over. Views are valid during the call only.
struct RecordView {
    Lsn lsn = 0;  // of the record's last fragment
    RecordType type = RecordType::kNoop;
    uint16_t participant = 0;
    uint64_t timestamp = 0;  // DESIGN 8.4: time base of the slot plus offset; rises with the LSN
    ByteView body;
};
/// Called in LSN order for each whole record. A status that is not ok ends the open with it.
using RecordSink = std::function<Status(const RecordView&)>;

struct Options {
    platform::FileSystem* files = nullptr;
    std::string directory;                  // dbpath/journal; created when missing
    uint32_t slots = 8;                     // 4 to 32
    uint32_t slotBytes = 256 * 1024;        // 4 KiB to 2 MiB, a multiple of 4 KiB
    uint64_t segmentBytesFirst = 4u << 20;  // at least slots * slotBytes; doubling up to:
    uint64_t segmentBytesMax = 128u << 20;
    /// Of recycled segments that wait for their new name.
    uint64_t spareBytesMax = UINT64_MAX;
    /// Segments of a log that grows by more bytes a second are not zeroed first: writing everything
    /// twice would take the disk from it.
    uint64_t zeroedPerSecondMax = 64u << 20;
    uint32_t commitIntervalMs = 100;  // an idle journal writes what is buffered this often
    std::array<char, 16> dbUuid{};    // of the data directory; a segment of another one is refused
    /// Replay begins here: records below are not handed over, and segments that lie below as a
    /// whole are not even read. 0: from the very first record. REQUIRES: at least the highest
    /// `redoLsn` that recycle() was ever given, and durable() has once returned ok for it.
    Lsn redoLsn = 0;
    /// Retention (DESIGN 8.4): recycle() leaves a segment alone while the finished segments behind
    /// it hold less than this many bytes, or it holds records younger than this. 0: no retention.
    uint64_t retainBytes = 0;
    uint32_t retainHours = 0;
    /// Damage ends the log instead of the open: it is cut where the damage begins, and losses()
    /// says where that was and what is gone.
    bool repair = false;
    /// A write or flush has failed: nothing may be acknowledged any more. Called once, on any
    /// thread; the server logs and exits with code 14. All waiters have been failed or will be.
    std::function<void(const Status&)> onFatal;
};

struct Stats {
    uint64_t records = 0;         // whole records written
    uint64_t bytes = 0;           // bytes of their blocks, headers included, padding not
    uint64_t slotsWritten = 0;    // blocks written
    uint64_t flushes = 0;         // flushes (of all that was written before) that returned
    uint64_t joinRaces = 0;       // joins that lost a CAS
    uint64_t oldLapMeetings = 0;  // joins that had to move the active slot on for others
    bool segmentMissing = false;  // nothing is written until the next one is made
    uint64_t fullWaits = 0;       // appends that found no free slot
    uint64_t segments = 0;        // segment files in use or ready
    uint64_t flushMicrosTotal = 0;
    uint64_t segmentsRecycled = 0;  // renamed for reuse, or removed
    uint64_t retainedBytes = 0;     // bytes of finished segments that are still there
};

/// One record on its way into the journal. The caller keeps it alive and unchanged from the first
/// call of append() until it has returned ok or an error other than WouldBlock.
class AppendOp {
public:
    AppendOp(RecordType type, uint16_t participant, std::string body)
        : type_(type), participant_(participant), body_(std::move(body)) {}
    /// REQUIRES: append() returned ok. LSN of the last (usually only) fragment.
    Lsn lsn() const { return lsn_; }
    /// REQUIRES: append() returned ok. The record's Timestamp: replay will report the same.
    uint64_t timestamp() const { return timestamp_; }
    /// Set when append() returned WouldBlock.
    const sync::WaitToken& token() const { return token_; }
    /// True from the first fragment on: the append must then be carried to its end.
    bool started() const { return started_; }

private:
    friend class Journal;
    RecordType type_;
    uint16_t participant_;
    std::string body_;
    size_t done_ = 0;
    Lsn first_ = 0;
    Lsn lsn_ = 0;
    uint64_t timestamp_ = 0;
    bool started_ = false;
    sync::WaitToken token_;
};

class Journal {
public:
    /// Scans what is there, hands every whole record from redoLsn on to `replay`, finds the tail,
    /// begins a new era and is ready to append. kCorruption, naming file and offset, when
    /// acknowledged records are damaged (a later block proves that they were durable) or the log
    /// does not reach back to redoLsn; a torn tail is not damage and is cut off.
    static StatusOr<std::unique_ptr<Journal>> open(const Options& options,
                                                   const RecordSink& replay);
    /// close() if still open.
    ~Journal();

    /// Copies the record into the log buffer. ok: it has its LSN and place in the order, and will
    /// reach the disk within commitIntervalMs (or the process ends). WouldBlock: every slot is
    /// being written; wait for op.token() and call again with the same op.
    /// kIo, kUnavailable: the journal has failed or is closed. kNoSpace: as long as the next
    /// segment cannot be made; not for an op that has started.
    Status append(AppendOp& op);
    /// ok when the record at `lsn` is in the hands of the operating system, so that it outlives
    /// this process, and all before it (decision 0026: at once, as a rule); else asks for it and
    /// returns WouldBlock with *token set. An error when the journal has failed. An `lsn` that
    /// nobody has got yet stands for everything appended so far.
    Status written(Lsn lsn, sync::WaitToken* token);
    /// The same for stable storage (fdatasync has returned).
    Status durable(Lsn lsn, sync::WaitToken* token);

    /// Nobody needs records below `redoLsn` any more, and every later open() will say so: segments
    /// that lie below it as a whole, are durable and are outside the retention are made ready for
    /// reuse. Blocks (renames, a directory sync); appends go on meanwhile. One call at a time.
    /// kIo: the journal has failed; kNoSpace: what could not be recycled is tried again next time.
    Status recycle(Lsn redoLsn);
    /// What Options::repair has cost: one line for each place where the log was cut.
    std::vector<std::string> losses() const;

    /// The log that open() found had an end that no close() has written: its process was killed, or
    /// the system went down. False also where that cannot be known.
    bool wasCutOff() const;

    /// A lower bound on the LSN of every append that starts after this call. seq_cst.
    Lsn tailLsn() const;
    /// Everything below is on stable storage.
    Lsn durableLsn() const;
    /// Timestamp above that of every record appended so far.
    uint64_t now() const;
    /// Ok, or why nothing can be written any more.
    Status health() const;
    /// Appends are refused until there is room for another segment: recycle() may help.
    bool isOutOfSpace() const;
    Stats stats() const;
    /// Flushes everything appended and stops the journal's threads. No call may be in progress;
    /// those that follow are refused.
    Status close();

private:
    struct Impl;
    explicit Journal(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace freshet::journal
