// SPDX-License-Identifier: Apache-2.0
/// Journal::Impl: joins ring, files and waiters. Cut by verb: journal.cpp appends and waits,
/// file/writing.cpp is what the writer's role calls, file/helper.cpp the helper threads,
/// file/open.cpp start and stop.
#pragma once

#include "freshet/journal/file/block_writer.h"
#include "freshet/journal/file/recycling.h"
#include "freshet/journal/file/ring_file.h"
#include "freshet/journal/file/segment.h"
#include "freshet/journal/file/tail_feed.h"
#include "freshet/journal/file/wake_event.h"
#include "freshet/journal/file/witness.h"
#include "freshet/journal/journal.h"
#include "freshet/journal/slot/ring_writer.h"
#include "freshet/journal/slot/slot_ring.h"
#include "freshet/journal/slot/wait_list.h"
#include "freshet/journal/variant/filling_rule.h"
#include "freshet/platform/thread.h"

#include <memory>
#include <string>
#include <vector>

namespace freshet::journal {

class ReadService;

struct Journal::Impl {
    /// What open() found and made. The first block of the new era is already durable.
    struct Start {
        BlockWriter blocks;
        uint64_t eraSlot;
        uint64_t timeBase;
        std::unique_ptr<RingFile> ringFile;
        std::unique_ptr<Witness> witness;
        bool wasCutOff;
        std::unique_ptr<Recycler> recycler;
        SegmentMaker maker;
        uint64_t segments;
        std::vector<std::string> losses;
    };
    Impl(const Options& given, Start start);
    ~Impl();

    // --- Appending and waiting (journal.cpp) ---

    Status append(AppendOp& op);
    /// Ok, or why nothing can be appended now. For a record that has `started`: only a failure that
    /// is final.
    Status refusal(bool started) const;
    /// Appends one fragment or whole record; `started` as in refusal(). WouldBlock with *token set,
    /// else ok with *lsn and *timestamp.
    Status place(const RecordHeader& header,
                 ByteView body,
                 bool started,
                 Lsn* lsn,
                 uint64_t* timestamp,
                 sync::WaitToken* token);
    /// A slot is done. The caller writes it if some caller waits for that, else another thread
    /// does.
    void slotDone();
    /// `wanted` requests that `reached` be raised; `waiters` wait for `reached`.
    Status await(Lsn lsn,
                 const sync::Atomic<uint64_t>& reached,
                 sync::Atomic<uint64_t>& wanted,
                 WaitList& waiters,
                 sync::WaitToken* token);
    /// True when the record at `lsn` and all before it would survive the end of this process now.
    bool outlivesProcess(Lsn lsn);
    /// Ok, or why the journal serves no more calls.
    Status health() const;
    /// Body bytes that a fragment can carry.
    size_t fragmentBytesMax() const { return options.slotBytes / 4 - sizeof(RecordHeader); }

    // --- RingWriter's backend (writing.cpp); the caller holds the role ---

    bool writeSlot(uint64_t slotNo);
    void afterWrites();
    uint64_t wantedEnd() const;
    void startFlush();
    void passRole();  // without the role
    bool takeNextSegment();
    LogBlockRef copyOfBlock(uint64_t slotNo, uint32_t fill);  // just written

    // --- Helper threads (helper.cpp) ---

    void help();
    void writeForOthers();
    void makeSegments();
    void flush();
    void askForIdleData();
    /// Requests a flush for waiting readers, if one is due.
    void flushForReaders();
    uint64_t millisUntilReaders() const;
    /// One step towards the next segment. True: there is more to do at once.
    bool prepareSegment();
    uint64_t bytesToKeepFree();  // while the next segment is made
    void noSegment(const Status& why);
    /// Something was appended, or is not durable yet, for which a reader waits. Any thread.
    void nudgeHelper();
    /// Ends the journal. Any thread; the first reason counts.
    void fail(const Status& why);

    /// Runs on the caller's thread.
    Status recycle(Lsn redoLsn);

    // --- Stop (open.cpp) ---

    Status flushAll();
    Status appendClosingBlock();
    Status close();

    const Options options;
    FillingRule* const rule = fillingRule.load(sync::kRelaxed);  // [filling.rule]

    const std::unique_ptr<RingFile> ringFile;  // null: the ring owns its memory
    const std::unique_ptr<Witness> witness;    // null: none is kept
    const bool wasCutOff;                      // the previous start did not close the log
    SlotRing ring;
    RingWriter<SlotRing, Impl> writer;
    const std::unique_ptr<Recycler> recycler;  // threads: see its header
    TailFeed feed;                             // for readers
    /// Serves readers. Before syncWaiters, in which it waits.
    const std::unique_ptr<ReadService> readers;
    WaitList freeWaiters;  // for a free slot; all ends are 0

    /// Slot starts below which all blocks are written, and durable. Written by: the writer;
    /// the helper, after a flush. Rise only. INV-journal-4 (J4): durableLsn never exceeds the end
    /// of the last block whose flush has returned ok.
    alignas(sync::kLineBytes) sync::Atomic<uint64_t> writtenLsn;
    sync::Atomic<uint64_t> durableLsn;
    /// Slot starts that callers wait for. Written by: await(), the helper's timer. Rise only.
    sync::Atomic<uint64_t> writeWanted{0};
    sync::Atomic<uint64_t> syncWanted{0};
    WaitList writeWaiters;
    WaitList syncWaiters;

    /// The writtenLsn that the flush in flight will make durable, 0 when there is none.
    ///   STEPS    0 -> target (by the writer) -> 0 (by the helper, after durableLsn); keeps its
    ///            value when the flush has failed
    ///   OWNS     flushRanges: the writer's while 0, else the helper's
    sync::Atomic<uint64_t> flushTarget{0};
    std::vector<WrittenRange> flushRanges;
    uint64_t idleEnd = 0;  // end of the records that the helper's last check saw; the helper's
    /// Readers wait for more at the end of the log. Written by: the read service. Read by: appends.
    sync::Atomic<bool> readersWait{false};
    /// Written by: nudgeHelper() (set), the helper (cleared, before it looks at what there is).
    sync::Atomic<bool> isNudged{false};
    uint64_t readersDueNanos = 0;  // no flush for readers before; the helper's

    BlockWriter blocks;  // owned by the writer's role
    /// The segment made ahead. STEPS null -> segment (by its maker) -> null (by the writer, which
    /// then owns it).
    sync::Atomic<Segment*> readySegment{nullptr};
    SegmentMaker maker;  // used by makeSegments()
    const std::vector<std::string> losses;

    /// Why the journal has ended, null until then. Written once; freed with the journal.
    sync::Atomic<const Status*> failure{nullptr};
    sync::Atomic<bool> outOfSpace{false};      // the next segment cannot be made at present
    sync::Atomic<bool> mayUseReserve{false};   // see Journal::useReserve(); once
    sync::Atomic<bool> segmentMissing{false};  // the writer had to stop for lack of one
    sync::Atomic<bool> closing{false};
    sync::Atomic<bool> closed{false};

    sync::Atomic<bool> stopping{false};
    WakeEvent helperWake;  // for the helper
    WakeEvent writerWake;  // for the thread that calls notify() for others
    WakeEvent makerWake;   // for the thread that makes segments

    // Statistics; nothing depends on them.
    sync::Atomic<uint64_t> records{0};
    sync::Atomic<uint64_t> bytes{0};
    sync::Atomic<uint64_t> slotsWritten{0};
    sync::Atomic<uint64_t> flushes{0};
    sync::Atomic<uint64_t> flushMicros{0};
    sync::Atomic<uint64_t> fullWaits{0};
    sync::Atomic<uint64_t> segments{0};

    platform::Thread helper;  // these three last: they use all of the above
    platform::Thread writerForOthers;
    platform::Thread makerOfSegments;
};

}  // namespace freshet::journal
