// SPDX-License-Identifier: Apache-2.0
/// The engine's public interface: ordered byte keys to byte values in lock-free B+trees, with
/// snapshot isolation. A transaction writes one commit record for all trees that it touches; the
/// journal makes it durable. Design: docs/design/engine.md.
///
/// Threads: any thread may use a Store. One thread at a time uses a Txn with its Cursors; between
/// two calls another thread may take over, if the last call happened before its first one. Threads
/// may end while a Txn that they have used goes on. Calls never block: after WouldBlock, wait for
/// txn.token() and call again with the same arguments (the Txn remembers what was done). Between a
/// WouldBlock and the next call the thread must be outside every slice.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/base/status.h"
#include "freshet/block/block_file.h"
#include "freshet/engine/leaf_hint.h"
#include "freshet/engine/snapshot.h"
#include "freshet/engine/value_share.h"
#include "freshet/journal/journal.h"
#include "freshet/platform/file.h"
#include "freshet/platform/slabs.h"
#include "freshet/sync/epoch.h"
#include "freshet/sync/wait_token.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace freshet::engine {

/// Names a tree in journal records; never reused within a data directory.
using TreeId = uint32_t;
/// The catalog's own tree; exists from the start.
inline constexpr TreeId kCatalogTree = 1;
inline constexpr size_t kKeyBytesMax = 64 * 1024 - 1;  // lengths of keys and fences fit 16 bits
inline constexpr size_t kValueBytesMax = 17u << 20;
inline constexpr size_t kEventBytesMax = 48u << 20;

/// When a commit may be acknowledged: appended to the journal, handed to the system, or on stable
/// storage.
enum class Durability : uint8_t { kNoSync, kWritten, kDurable };

/// How pages are stored in the data file.
using Codec = block::Codec;

class EventKeeper;  // event_keeper.h
struct StoreCore;   // opaque
class Tree;         // opaque; use through Txn and Cursor
using TreeRef = std::shared_ptr<Tree>;

struct StoreOptions {
    platform::FileSystem* files = nullptr;
    std::string directory;  // dbpath; created when missing
    uint32_t journalCommitIntervalMs = 100;
    uint64_t journalSegmentBytesMax = 128u << 20;
    uint64_t journalRetainBytes = 0;  // journal kept beyond what recovery needs
    uint32_t journalRetainHours = 0;
    /// A checkpoint is made after this time or this much journal, whichever comes first.
    uint64_t checkpointIntervalMs = 60'000;
    uint64_t checkpointJournalBytes = uint64_t{2} << 30;
    /// A control for benchmarks, without the state between committed and durable: a change becomes
    /// visible to others, and its key free for the next writer, only once it is on stable storage.
    bool holdCommitsUntilDurable = false;
    /// open() refuses a directory that holds other files but no store (kInvalid; the text says
    /// which, and what to do). Logs, process ids, certificates and the like are allowed.
    bool refuseForeignFiles = false;
    /// For caches and benchmarks: commits are not logged, and nothing survives the store, whether
    /// it is closed or crashes. open() refuses a directory that has data (kUnsupported), and every
    /// later open() refuses one that was used like this. Txn::waitFor() supports only kNoSync then.
    bool withoutJournal = false;
    /// The memory that pages may take; 0: no ceiling.
    uint64_t memoryBytes = 0;
    /// The ceiling applies to the whole process: memory used for other things leaves less for
    /// pages, but never less than half.
    bool memoryIsProcess = false;
    /// While memory is short and nothing can be evicted because snapshots need it, snapshots older
    /// than this end: their transactions get kConflict (SnapshotTooOld). 0: never.
    uint64_t snapshotMillisMax = 60'000;
    /// A transaction with OnConflict::kFail ends this long after its first write, so that none
    /// keeps others from its keys for ever (kTransactionEnded). It may take half a second more, or
    /// a part of a checkpoint, and does not happen during a call that writes. 0: never.
    /// Txn::endAfter() sets another limit.
    uint64_t transactionMillisMax = 60'000;
    /// What a transaction may write, in keys, values and events; one that has written more gets
    /// kLimit. It needs two to three times as much memory. 0: a quarter of memoryBytes, at least
    /// 64 MiB.
    uint64_t transactionBytesMax = 0;
    /// What old versions may take of memory so that snapshots of the past can be read: see
    /// Store::findSnapshot(). An estimate, by what was written meanwhile. 0: an eighth of
    /// memoryBytes, at least 32 MiB.
    uint64_t historyBytesMax = 0;
    /// A transaction that writes more is a chain of records in the journal.
    uint32_t recordBytesMax = 64u << 20;
    /// The data file bypasses the operating system's cache, which would otherwise keep pages that
    /// memoryBytes does not allow and second copies of the others.
    bool directIo = true;
    /// Values of 16 KiB and more are allocated there, for a network adapter to send from. The slabs
    /// outlive all objects of the store. Null: values use the normal allocator. memoryBytes counts
    /// them like other values; free room in slabs counts as freed memory.
    platform::Slabs* slabs = nullptr;
    /// How leaves are stored in trees for which setCodec() was not called. Each page records its
    /// own codec; large values and inner pages are stored as they are.
    Codec codec = Codec::kNone;
    /// Open in spite of damage: see Store::losses(). Until finishRepair() the directory can only be
    /// opened with this option.
    bool repair = false;
    /// Gets the events that replay finds, and has the log kept as long as it needs them. It
    /// outlives the store. Null: events are for readers of the log only.
    EventKeeper* eventKeeper = nullptr;
    /// Called once when the journal or the data file has failed: as journal::Options::onFatal.
    std::function<void(const Status&)> onFatal;
};

struct StoreStats {
    journal::Stats journal;
    uint64_t commits = 0;
    uint64_t aborts = 0;
    uint64_t conflicts = 0;
    uint64_t conflictWaits = 0;
    uint64_t rebuilds = 0;  // leaves consolidated or split
    uint64_t splits = 0;
    uint64_t retiredBytes = 0;
    uint64_t trees = 0;
    uint64_t clock = 0;
    uint64_t recordsReplayed = 0;       // commits
    uint64_t chainsDropped = 0;         // by replay: of records whose last one is not there
    uint64_t checkpoints = 0;           // since open()
    uint64_t lastCheckpointMillis = 0;  // how long it took
    int64_t lastCheckpointWallMs = 0;   // when it ended; 0 = never
    uint64_t pages = 0;
    uint64_t dirtyPages = 0;       // pages that the next checkpoint has to write
    uint64_t memoryBytes = 0;      // of pages, in all stores of the process
    uint64_t memoryBytesMax = 0;   // the ceiling; 0: none
    uint64_t leavesRead = 0;       // leaves that were not in memory when needed
    uint64_t leavesReadAsync = 0;  // of those, read by io_uring
    uint64_t leafBytesRead = 0;
    uint64_t leavesUnreadable = 0;
    uint64_t leavesEvicted = 0;
    bool spaceShort = false;  // commits that add data are refused
    block::Stats block;
};

/// What Store::verifyFiles() found.
struct FilesReport {
    uint64_t pages = 0;
    uint64_t bytes = 0;
    std::vector<std::string> errors;  // each names a page, a tree or a place
};

class Store {
public:
    /// Locks the directory, loads the newest checkpoint and replays the journal from there.
    /// kUnavailable: another process uses it (the text names its id). kCorruption: acknowledged
    /// data is damaged (the text names the place); with StoreOptions::repair only for damage that
    /// cannot be repaired.
    static StatusOr<std::unique_ptr<Store>> open(const StoreOptions& options);
    ~Store();
    /// REQUIRES: no Txn open, no ValueShare left. Makes everything durable, takes a checkpoint and
    /// closes the files.
    Status close();
    /// Takes a checkpoint while everything else goes on; none while checkpoints are held. Blocks:
    /// any thread but a reactor, outside every slice. kNoSpace: the checkpoint was given up and is
    /// tried again at the next interval. Any other error is final and was passed to onFatal.
    Status checkpointNow();
    /// Takes a checkpoint, then none until releaseCheckpoints(), so that the files can be copied:
    /// everything written meanwhile goes to the journal. Counted. Blocks and fails as
    /// checkpointNow(); after an error nothing is held. close() releases.
    Status holdCheckpoints();
    void releaseCheckpoints();
    /// Evicts whatever can be evicted, as if memory were short. Blocks as checkpointNow().
    void evictAll();
    /// The process is about to use much memory for things other than data: its memory is checked
    /// often for a second, so that pages are evicted in time. Any thread; does not block.
    void expectMemoryUse();
    /// What StoreOptions::repair has lost: one line for each lost piece.
    const std::vector<std::string>& losses() const;
    /// Whether pieces of the tree may be lost, by this repair or by an earlier one that was not
    /// finished.
    bool mayHaveLost(TreeId tree) const;
    /// REQUIRES: StoreOptions::repair. Whatever depends on the lost pieces has been mended. Takes a
    /// checkpoint; the directory then opens normally again. Blocks as checkpointNow().
    Status finishRepair();
    /// Reads and checks the data file, as of the newest checkpoint. Blocks as checkpointNow(); no
    /// checkpoint runs meanwhile.
    StatusOr<FilesReport> verifyFiles();

    /// The tree with that id; an empty one if there is none. The catalog knows which trees exist:
    /// an empty tree costs nothing on disk.
    TreeRef tree(TreeId id);
    /// An id that no record of this data directory has ever named.
    TreeId newTreeId();
    /// Ids in use elsewhere (in the catalog's entries): newTreeId() stays above them.
    void reserveTreeIds(TreeId upTo);
    /// Forgets the tree. Holders of its TreeRef may still read it; its memory is freed with the
    /// last TreeRef.
    void dropTree(TreeId id);
    /// How leaves of the tree are stored from now on, until the store is closed; the default is
    /// StoreOptions::codec.
    void setCodec(TreeId id, Codec codec);
    /// The size of the tree's pages in the data file, counting the images that the last checkpoint
    /// names.
    uint64_t storedBytes(TreeId id) const;
    /// All trees that hold anything or were requested, in ascending order.
    std::vector<TreeId> treeIds();

    /// How long the store keeps its history, the old versions that snapshots of the past need, if
    /// they do not need too much memory; at least a second. `always`: also while nobody uses it;
    /// else it begins with the first call of findSnapshot(), and ends when there was none for so
    /// long. 300 seconds, and not always, until this is called.
    void keepHistory(uint64_t seconds, bool always);
    /// Finds the snapshot of a Timestamp of the journal, for Txn::beginAt(); 0: of now, at least of
    /// everything that was committed before the first call. WouldBlock: commits that belong to it
    /// are under way, or the history is being begun; there is no token, call again soon, with the
    /// same arguments. kConflict (kSnapshotTooOld): the history does not reach back so far. Any
    /// thread, outside every slice. REQUIRES: a journal, and `time` is below its now().
    Status findSnapshot(uint64_t time, Snapshot* snapshot);

    sync::EpochDomain& epochs();
    /// REQUIRES: not StoreOptions::withoutJournal.
    journal::Journal& journal();
    StoreStats stats();
    /// The data memory that the calling thread has added minus what it has freed, in all stores:
    /// useful only as a difference.
    static int64_t threadDataBytes();
    /// As it was opened.
    const StoreOptions& options() const;

private:
    friend class Txn;
    friend class Cursor;
    struct Impl;
    explicit Store(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
    const std::shared_ptr<StoreCore>& core_;  // the Impl's
};

/// What a writer does when another transaction's uncommitted change is in its way.
enum class OnConflict : uint8_t {
    kWait,  // single-document operations: WouldBlock until that transaction ends
    kFail   // multi-document transactions: kConflict at once
};

/// How a caller handles WouldBlock.
enum class Waits : uint8_t {
    kForToken,  // continues with other work until token() is complete: reactors
    kHere       // calls Txn::await() next: plain threads
};

/// A transaction: reads see the snapshot taken at begin() plus its own writes. The store outlives
/// it. Every call that reads, writes or commits may find that the snapshot was ended
/// (StoreOptions::snapshotMillisMax): kConflict with Reason::kSnapshotTooOld; abort and run again.
/// The same holds for kTransactionEnded, if the transaction had written much and was idle while
/// memory was short, or was too old (StoreOptions::transactionMillisMax, endAfter()).
class Txn {
public:
    explicit Txn(Store& store,
                 OnConflict onConflict = OnConflict::kWait,
                 Waits waits = Waits::kForToken);
    /// Aborts unless committed.
    ~Txn();
    Txn(const Txn&) = delete;
    Txn& operator=(const Txn&) = delete;

    /// kNotFound when there is no visible value.
    Status get(Tree& tree, ByteView key, std::string* value);
    /// As get(), without a copy. REQUIRES: inside a slice of the store's epochs(); the bytes are
    /// valid until the slice ends. A correct hint (of this tree) saves the descent.
    Status getInPlace(Tree& tree, ByteView key, ByteView* value, LeafHint hint = {});
    /// As getInPlace(); gives a share of the value if it is large enough.
    Status getShared(Tree& tree, ByteView key, SharedRead* read, LeafHint hint = {});
    /// Sets the key's value. kConflict: another transaction committed a change of the key after our
    /// snapshot; abort and run again. WouldBlock: wait for token().
    Status put(Tree& tree, ByteView key, ByteView value);
    /// As put(), for a key that must not have a live value: kExists if it has one in the newest
    /// committed state (or in our own writes), whatever the snapshot shows, since uniqueness does
    /// not depend on snapshots.
    Status insert(Tree& tree, ByteView key, ByteView value);
    /// kNotFound when there is no visible value. kConflict and WouldBlock as put.
    Status erase(Tree& tree, ByteView key);

    /// Appends an event to the commit record, for readers of the log (commit_reader.h). The engine
    /// does not look at its bytes. A transaction with events and no changes has a record as well;
    /// abort() drops events. kLimit: too large, or as many transactions as possible have written.
    Status addEvent(ByteView event);

    /// The transaction ends so long after this call, as StoreOptions::transactionMillisMax says,
    /// but also if it has only read. Replaces the limit that it had; 0: none. Holds until begin().
    /// kLimit: as many transactions as possible have written or have a limit.
    Status endAfter(uint64_t millis);

    /// The commit is not refused when the data file cannot grow: for little data on which it
    /// depends that the log is given back. Holds until begin(). kLimit: as endAfter().
    Status growDespiteShortage();

    /// All or nothing, at one point in time. WouldBlock: the journal is full; call again. After ok
    /// the change is visible to others; waitFor() says when it is durable. A Txn without writes and
    /// events commits trivially. Errors (kIo, kNoSpace, kUnavailable): nothing was committed.
    /// kNoSpace comes from a full journal, or from a data file that cannot grow, except for
    /// transactions that only delete or only change the catalog; it goes away by itself when there
    /// is room again.
    Status commit();
    /// REQUIRES: committed. ok when the commit has reached that level; else WouldBlock.
    /// kUnsupported: a level beyond kNoSync in a store without a journal.
    Status waitFor(Durability durability);
    /// Undoes all writes. begin() may then be called again.
    void abort();
    /// REQUIRES: committed, aborted, or nothing written yet. Takes a new snapshot and starts over.
    void begin();
    /// The same with a snapshot of the past. kConflict (kSnapshotTooOld): what it needs is no
    /// longer kept; begin again. What it writes conflicts with everything that was committed since.
    Status beginAt(const Snapshot& snapshot);
    /// Gives the snapshot of beginAt() up, so that nothing is kept for it alone; resume() takes it
    /// again, with errors as beginAt(). In between nothing else is called. REQUIRES: beginAt(),
    /// nothing written, no limit of time.
    void pause();
    Status resume();

    /// REQUIRES: the last call returned WouldBlock, Waits::kForToken.
    const sync::WaitToken& token() const;
    /// Parks the calling plain thread until calling again is worthwhile; if a page must be read,
    /// this thread reads it. REQUIRES: the last call returned WouldBlock, Waits::kHere, outside
    /// every slice; the caller still holds the tree.
    void await();
    /// The snapshot: commits with a timestamp up to and including this are visible.
    uint64_t readTs() const;
    /// Whether there is something to commit: a change or an event.
    bool hasWrites() const;
    /// REQUIRES: committed with writes, in a store with a journal.
    journal::Lsn commitLsn() const;

private:
    friend class Cursor;
    friend class RangeCount;
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// The key range of a leaf that cannot be read.
struct LostRange {
    std::string low;       // first key; empty: from the start of the tree
    std::string high;      // exclusive end; empty: to the end of the tree
    uint64_t entries = 0;  // number of entries that the leaf has on disk
};

/// Walks a tree in key order, in both directions, with the view of a Txn. Holds no page between
/// calls (each call searches its position again by key unless the page is unchanged), so it
/// survives any number of suspensions, splits and new snapshots of its Txn.
class Cursor {
public:
    /// The Txn and the tree must outlive the cursor.
    Cursor(Txn& txn, TreeRef tree);
    ~Cursor();
    Cursor(const Cursor&) = delete;
    Cursor& operator=(const Cursor&) = delete;

    /// To the first key >= `key`. After each of these, valid() says whether such a key was found.
    Status seek(ByteView key);
    /// To the last key <= `key`.
    Status seekBefore(ByteView key);
    Status first();
    Status last();
    /// REQUIRES valid().
    Status next();
    Status prev();

    bool valid() const;
    /// After a call that failed because a leaf cannot be read: the range of that leaf. A walk
    /// upward can continue behind it with seek(high). Else null.
    const LostRange* lost() const;
    /// REQUIRES valid(). Stable until the next call on this cursor (the cursor holds copies).
    ByteView key() const;
    ByteView value() const;
    /// REQUIRES valid(). A share of the value if it has at least `bytesMin` bytes, else an empty
    /// share.
    ValueShare share(size_t bytesMin) const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace freshet::engine
