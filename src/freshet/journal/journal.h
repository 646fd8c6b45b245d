// SPDX-License-Identifier: Apache-2.0
/// The journal: an append-only sequence of records in segment files, written through consolidated
/// slots (docs/design/journal.md). A committer joins the active slot by one CAS on a packed word,
/// copies its record at once and releases; no thread leads, waits or spins. The thread that
/// completes a closed slot writes it; one flush covers everything that arrived during the previous
/// one.
///
/// Threads: every method may be called by any thread and never blocks; a call that would have to
/// wait returns WouldBlock with a token. open() and close() block and are for start and stop;
/// recycle() blocks and is for a background thread.
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

/// Position in the log: slot number << 24 | byte offset in the slot. Logical: it rises with the log
/// and never repeats, and says nothing about the position of the bytes in a file.
using Lsn = uint64_t;

enum class RecordType : uint8_t { kCommit = 1, kCheckpointDone = 2, kNoop = 4 };

/// A record passed to replay. Views are valid during the call only.
struct RecordView {
    Lsn lsn = 0;  // of the record's last fragment
    RecordType type = RecordType::kNoop;
    uint16_t participant = 0;
    uint64_t timestamp = 0;  // time base of the slot plus offset; rises with the LSN
    ByteView body;
};
/// Called in LSN order for each whole record. A status that is not ok ends open() with that status.
using RecordSink = std::function<Status(const RecordView&)>;

struct Options {
    platform::FileSystem* files = nullptr;
    std::string directory;                  // dbpath/journal; created when missing
    uint32_t slots = 8;                     // 4 to 32
    uint32_t slotBytes = 256 * 1024;        // 4 KiB to 2 MiB, a multiple of 4 KiB
    uint64_t segmentBytesFirst = 4u << 20;  // at least slots * slotBytes; doubling up to:
    uint64_t segmentBytesMax = 128u << 20;
    /// Limit for recycled segments that wait for reuse.
    uint64_t spareBytesMax = UINT64_MAX;
    /// A new segment leaves at least so much of the disk free, and as much again as the segments in
    /// use: it is for the checkpoint that lets those be reused. Until then appends that need the
    /// segment are refused. 0: nothing is left. Opening may use the whole disk.
    uint64_t keepFreeBytes = 0;
    /// Segments of a log that grows by more bytes a second are not zeroed first: writing everything
    /// twice would take too much of the disk's bandwidth.
    uint64_t zeroedPerSecondMax = 64u << 20;
    uint32_t commitIntervalMs = 100;  // an idle journal writes what is buffered this often
    std::array<char, 16> dbUuid{};    // of the data directory; others' segments are refused
    /// Replay begins here: records below are not passed on, and segments entirely below are not
    /// even read. 0: from the very first record. REQUIRES: at least the highest `redoLsn` that
    /// recycle() was ever given, and durable() has once returned ok for it.
    Lsn redoLsn = 0;
    /// Retention: recycle() leaves a segment alone while the finished segments behind it hold less
    /// than this many bytes, or it holds records younger than this. 0: no retention. Less is kept
    /// when the disk has less free, and nothing when it lacks room for the log itself.
    uint64_t retainBytes = 0;
    uint32_t retainHours = 0;
    /// Limits of pins (reader.h): they become void when the finished segments hold more than this
    /// many bytes, or the oldest was left longer ago than this. 0 hours: no limit by time.
    uint64_t pinBytesMax = uint64_t{1} << 30;
    uint32_t pinHours = 0;
    /// Damage cuts the log where it begins instead of failing open(); losses() names the place and
    /// what was lost.
    bool repair = false;
    /// A write or flush has failed: no further acknowledgement is possible. Called once, on any
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
    bool segmentMissing = false;  // no block is written until the next segment is made
    uint64_t fullWaits = 0;       // appends that found no free slot
    uint64_t segments = 0;        // segment files in use or ready
    uint64_t flushMicrosTotal = 0;
    uint64_t segmentsRecycled = 0;  // renamed for reuse, or removed
    uint64_t retainedBytes = 0;     // bytes of finished segments that are kept
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
    /// Scans the files, passes every whole record from redoLsn on to `replay`, finds the tail,
    /// begins a new era and is ready to append. kCorruption, naming file and offset, when
    /// acknowledged records are damaged (a later block proves that they were durable) or the log
    /// does not reach back to redoLsn; a torn tail is not damage and is cut off.
    static StatusOr<std::unique_ptr<Journal>> open(const Options& options,
                                                   const RecordSink& replay);
    /// close() if still open.
    ~Journal();

    /// Copies the record into the log buffer. ok: its LSN and order are fixed, and it will reach
    /// the disk within commitIntervalMs (or the process ends). WouldBlock: every slot is being
    /// written; wait for op.token() and call again with the same op. kIo, kUnavailable: the journal
    /// has failed or is closed. kNoSpace: while the next segment cannot be made; not for an op that
    /// has started.
    Status append(AppendOp& op);
    /// ok when the operating system has the record at `lsn` and all before it, so that they survive
    /// this process (decision 0026: usually at once). Else requests that and returns WouldBlock
    /// with *token set. An error when the journal has failed. An `lsn` beyond the last record
    /// stands for everything appended so far.
    Status written(Lsn lsn, sync::WaitToken* token);
    /// The same for stable storage (fdatasync has returned).
    Status durable(Lsn lsn, sync::WaitToken* token);

    /// Records below `redoLsn` are no longer needed, and every later open() will pass at least this
    /// redoLsn. Segments that are entirely below it, are durable and are outside the retention are
    /// made ready for reuse. Blocks (renames, a directory sync); appends go on meanwhile. One call
    /// at a time. kIo: the journal has failed; kNoSpace: the next call tries again what could not
    /// be recycled.
    Status recycle(Lsn redoLsn);
    /// What Options::repair has lost: one line for each place where the log was cut.
    std::vector<std::string> losses() const;

    /// True when no close() had ended the log that open() found: its process was killed, or the
    /// system went down. False also where that cannot be determined.
    bool wasCutOff() const;

    /// A lower bound on the LSN of every append that starts after this call. seq_cst.
    Lsn tailLsn() const;
    /// Everything below is on stable storage.
    Lsn durableLsn() const;
    /// Timestamp above that of every record appended so far, and not above that of any record whose
    /// append starts after this call.
    uint64_t now() const;
    /// Ok, or why nothing can be written any more.
    Status health() const;
    /// Appends are refused until there is room for another segment: recycle() may help.
    bool isOutOfSpace() const;
    /// The next segment may use what Options::keepFreeBytes leaves: for the record by which a
    /// checkpoint lets segments be reused. False: there is no such reserve, or it is gone.
    bool useReserve();
    Stats stats() const;
    /// Flushes everything appended and stops the journal's threads. No call may be in progress;
    /// those that follow are refused.
    Status close();

private:
    friend class Reader;
    friend class Pin;
    friend class ReadService;
    struct Impl;
    explicit Journal(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace freshet::journal
