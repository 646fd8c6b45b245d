// SPDX-License-Identifier: Apache-2.0
/// Journal::Impl: joins ring, files and waiters. Cut by verb: journal.cpp appends and waits,
/// file/writing.cpp is what the writer's role calls, file/helper.cpp the helper threads,
/// file/open.cpp start and stop.
#pragma once

#include "freshet/journal/file/bell.h"
#include "freshet/journal/file/block_writer.h"
#include "freshet/journal/file/recycling.h"
#include "freshet/journal/file/ring_file.h"
#include "freshet/journal/file/segment.h"
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

struct Journal::Impl {
    /// What open() has found and made. The first block of the new era is durable already.
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
    /// Ok, or why nothing can be appended now; a record that has `started` is only refused for
    /// good.
    Status refusal(bool started) const;
    /// One fragment or whole record; `started`: refuse for good only. WouldBlock with *token set,
    /// else ok with *lsn and *timestamp.
    Status place(const RecordHeader& header,
                 ByteView body,
                 bool started,
                 Lsn* lsn,
                 uint64_t* timestamp,
                 sync::WaitToken* token);
    /// A slot is done. The caller writes it if somebody waits for that, else another thread.
    void slotDone();
    /// `reached` is what `wanted` asks to be raised; `waiters` wait for it.
    Status await(Lsn lsn,
                 const sync::Atomic<uint64_t>& reached,
                 sync::Atomic<uint64_t>& wanted,
                 WaitList& waiters,
                 sync::WaitToken* token);
    /// The record at `lsn` and all before it stay when the process ends now.
    bool outlivesProcess(Lsn lsn);
    /// Ok, or why the journal serves nothing any more.
    Status health() const;
    /// Body bytes that a fragment can carry.
    size_t fragmentBytesMax() const { return options.slotBytes / 4 - sizeof(RecordHeader); }

    // --- RingWriter's backend (writing.cpp); the caller holds the role ---

    bool writeSlot(uint64_t slotNo);
    void afterWrites();
    uint64_t wantedEnd() const;
    void startFlush();
    void handOver();  // without the role
    bool takeNextSegment();

    // --- Helper threads (helper.cpp) ---

    void help();
    void writeForOthers();
    void makeSegments();
    void flush();
    void askForIdleData();
    /// One step towards the next segment. True: there is more to do at once.
    bool prepareSegment();
    void noSegment(const Status& why);
    /// The journal is over. Any thread; the first reason counts.
    void fail(const Status& why);

    /// On a thread of the caller's.
    Status recycle(Lsn redoLsn);

    // --- Stop (open.cpp) ---

    Status flushAll();
    Status appendClosingBlock();
    Status close();

    const Options options;
    FillingRule* const rule = fillingRule.load(sync::kRelaxed);  // [filling.rule]

    const std::unique_ptr<RingFile> ringFile;  // what the ring lies in; null: it has its own
    const std::unique_ptr<Witness> witness;    // null: there is none
    const bool wasCutOff;                      // the start before has not closed the log
    SlotRing ring;
    RingWriter<SlotRing, Impl> writer;
    WaitList freeWaiters;  // for a free slot; all ends are 0

    /// Slot starts below which all blocks are written, and durable. Written by: the writer;
    /// the helper, after a flush. Rise only. INV-journal-4 (J4): durableLsn never exceeds the end
    /// of the last block whose flush has returned ok.
    alignas(sync::kLineBytes) sync::Atomic<uint64_t> writtenLsn;
    sync::Atomic<uint64_t> durableLsn;
    /// Slot starts that somebody waits for. Written by: await(), the helper's timer. Rise only.
    sync::Atomic<uint64_t> writeWanted{0};
    sync::Atomic<uint64_t> syncWanted{0};
    WaitList writeWaiters;
    WaitList syncWaiters;

    /// The writtenLsn that the flush in flight will make durable, 0 when there is none.
    ///   STEPS    0 -> target (by the writer) -> 0 (by the helper, after durableLsn); not left
    ///   again
    ///            when the flush has failed
    ///   OWNS     flushRanges: the writer's while 0, the helper's else
    sync::Atomic<uint64_t> flushTarget{0};
    std::vector<WrittenRange> flushRanges;
    uint64_t idleEnd = 0;  // up to where the helper's last look has seen records; the helper's

    BlockWriter blocks;  // owned by the writer's role
    /// The segment made ahead. STEPS null -> segment (its maker) -> null (writer, who then owns
    /// it).
    sync::Atomic<Segment*> readySegment{nullptr};
    const std::unique_ptr<Recycler> recycler;  // threads: see there
    SegmentMaker maker;                        // makeSegments()'s
    const std::vector<std::string> losses;

    /// Why the journal is over, null while it is not. Written once; freed with the journal.
    sync::Atomic<const Status*> failure{nullptr};
    sync::Atomic<bool> outOfSpace{false};      // the next segment cannot be made at present
    sync::Atomic<bool> segmentMissing{false};  // the writer had to give up for want of one
    sync::Atomic<bool> closing{false};
    sync::Atomic<bool> closed{false};

    sync::Atomic<bool> stopping{false};
    Bell bell;       // for the helper
    Bell writeBell;  // for the thread that writes for others: ringDone()
    Bell makeBell;   // for the one that makes segments: one is wanted

    // Statistics; nothing depends on them.
    sync::Atomic<uint64_t> records{0};
    sync::Atomic<uint64_t> bytes{0};
    sync::Atomic<uint64_t> slotsWritten{0};
    sync::Atomic<uint64_t> flushes{0};
    sync::Atomic<uint64_t> flushMicros{0};
    sync::Atomic<uint64_t> fullWaits{0};
    sync::Atomic<uint64_t> segments{0};

    platform::Thread helper;  // last, all three: they use all of the above
    platform::Thread writerForOthers;
    platform::Thread makerOfSegments;
};

}  // namespace freshet::journal
