// SPDX-License-Identifier: Apache-2.0
/// Reading the log while it is being written: for change streams, the oplog, backups.
///
///     auto reader = Reader::open(journal, {.lsn = token});
///     for (;;) {
///         RecordView record;
///         Status status = (*reader)->next(&record);
///         if (status.isWouldBlock()) { wait for (*reader)->token(); continue; }
///         ...
///     }
///
/// A reader sees only what is durable: a power cut takes back nothing that it has shown. It never
/// holds a writer up. While one waits for more, what is appended is flushed every 2 ms, whether or
/// not a caller asks for it; else within Options::commitIntervalMs. Nothing here does I/O on the
/// caller's thread: a thread of the journal's own (`journal-read`, started by the first reader)
/// reads segments, and it does nothing while all readers wait.
///
/// Status codes of this header. kNotFound: history lost, the log no longer reaches back so far.
/// kCorruption: a damaged block, with file and offset. kUnavailable: the journal is closed. Else
/// the status with which the journal has failed, or the disk a read.
#pragma once

#include "freshet/base/status.h"
#include "freshet/journal/journal.h"
#include "freshet/sync/wait_token.h"

#include <cstdint>
#include <memory>

namespace freshet::journal {

struct PinState;  // opaque

constexpr uint32_t maskOf(RecordType type) {
    return uint32_t{1} << static_cast<uint32_t>(type);
}

/// Which records a reader returns.
struct ReadFrom {
    /// Those at this LSN or above. 0: from the oldest that the log still has whole.
    Lsn lsn = 0;
    /// If not 0, `lsn` does not count: those with this Timestamp or a later one.
    uint64_t timestamp = 0;
    /// Of these types: maskOf(), combined by |.
    uint32_t types = UINT32_MAX;
};

/// Reads the log in order. Any number may exist; each is used by one thread at a time and may move
/// between threads. The journal must outlive it; close() may be called meanwhile. Memory: at most
/// 256 KiB and one block that it has fetched, and the fragments of records that are not whole yet;
/// at the end of the log only the latter.
class Reader {
public:
    /// Does not wait: whether the log still reaches back far enough may only be known at the first
    /// next(). kNotFound when it is known now. A position or time in the future is allowed.
    static StatusOr<std::unique_ptr<Reader>> open(Journal& journal, const ReadFrom& from);
    ~Reader();
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    /// The next whole record that was asked for. Its view is valid until the next call. WouldBlock:
    /// call again when token() is complete; there may be no record then either. kNotFound: its
    /// place was recycled before it was read (no pin, or a void one); this and kCorruption are
    /// final.
    Status next(RecordView* record);
    /// Set when next() returned WouldBlock.
    const sync::WaitToken& token() const;
    /// Every record below has been returned, or was not asked for; a reader opened here continues
    /// this one. Rises also past records that were not asked for. 0 as long as the place of a
    /// timestamp, or of the oldest record, has not been found; next() has then returned WouldBlock
    /// at most.
    Lsn position() const;
    /// Where a pin must be so that a reader can be opened at position() later: not above the first
    /// fragment of a record that is not whole yet.
    Lsn neededFrom() const;

private:
    struct Impl;
    explicit Reader(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// While it exists, recycle() leaves alone the segments with records at `position` or above, beyond
/// the retention if need be. Within limits: when the finished segments exceed
/// Options::pinBytesMax or pinHours, or writes are refused for lack of space, the pin becomes void.
/// Threads: any, but moveTo() one at a time. The journal must outlive it. A pin does not survive a
/// restart.
class Pin {
public:
    /// Void from the start when what begins at `position` is gone.
    Pin(Journal& journal, Lsn position);
    ~Pin();
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;

    /// What lies below is no longer needed. A lower position than before has no effect. Cheap.
    void moveTo(Lsn position);
    /// True: it protects nothing any more. Final.
    bool isVoid() const;

private:
    Journal& journal_;
    std::shared_ptr<PinState> state_;
};

}  // namespace freshet::journal
