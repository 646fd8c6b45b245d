// SPDX-License-Identifier: Apache-2.0
/// The engine's front door: ordered byte keys to byte values in lock-free B+trees, snapshot
/// isolation, one commit record for all trees that a transaction touches, durability through the
/// journal.
///
/// Threads: a Store may be used by any thread. A Txn and its Cursors belong to the thread that made
/// the Txn, from begin to end. Calls never block: WouldBlock means wait for txn.token() and call
/// again with the same arguments (the Txn remembers what was done). Between a WouldBlock and the
/// next call the thread must be outside every slice.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/base/status.h"
#include "freshet/block/block_file.h"
#include "freshet/engine/leaf_hint.h"
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
inline constexpr size_t kKeyBytesMax = 64 * 1024 - 1;  // its length, and a fence's, fits 16 bits
inline constexpr size_t kValueBytesMax = 17u << 20;

/// When a commit may be acknowledged (source 001): appended, handed to the system, on stable
/// storage.
enum class Durability : uint8_t { kNoSync, kWritten, kDurable };

/// How pages are stored in the data file.
using Codec = block::Codec;

class Tree;  // opaque; use through Txn and Cursor
using TreeRef = std::shared_ptr<Tree>;

struct StoreOptions {
    platform::FileSystem* files = nullptr;
    std::string directory;  // dbpath; created when missing
    uint32_t journalCommitIntervalMs = 100;
    uint64_t journalSegmentBytesMax = 128u << 20;
    uint64_t journalRetainBytes = 0;  // journal kept beyond what recovery needs
    uint32_t journalRetainHours = 0;
    /// A checkpoint is made after so much time or so much journal, whichever comes first.
    uint64_t checkpointIntervalMs = 60'000;
    uint64_t checkpointJournalBytes = uint64_t{2} << 30;
    /// A control for benchmarks (the third state off): a change is seen by others, and its key free
    /// for the next writer, only when it is on stable storage.
    bool holdCommitsUntilDurable = false;
    /// open() refuses a directory that has no store and something else (kInvalid; the text says
    /// what, and what to do). Logs, process ids, certificates and the like may be there.
    bool refuseForeignFiles = false;
    /// For caches and benchmarks: commits are not logged, and nothing survives the store, be it
    /// closed or cut off. open() refuses a directory that has data (kUnsupported), and every later
    /// open() one that was used like this. A Txn's waitFor() then knows kNoSync only.
    bool withoutJournal = false;
    /// What pages in memory may take; 0: no ceiling.
    uint64_t memoryBytes = 0;
    /// It is the ceiling of the whole process: what that takes beside pages leaves less for them,
    /// down to a half.
    bool memoryIsProcess = false;
    /// While memory is short, and nothing can be evicted since snapshots need it, those that are
    /// older than this end: their transactions get kConflict (SnapshotTooOld). 0: never.
    uint64_t snapshotMillisMax = 60'000;
    /// A transaction with OnConflict::kFail ends so long after its first write, so that nobody
    /// keeps others from its keys for ever (kTransactionEnded). It may take half a second more,
    /// or a part of a checkpoint, and not while a call of its own is under way. 0: never.
    uint64_t transactionMillisMax = 60'000;
    /// The data file past the operating system's cache, which would keep what memoryBytes does not
    /// allow, and its own copy of the rest.
    bool directIo = true;
    /// Values of 16 KiB and more lie there, for a network adapter to send from. They outlive
    /// everything of the store. Null: in the allocator's memory. memoryBytes counts them as it
    /// counts other values; room in slabs that is free counts as memory that was freed.
    platform::Slabs* slabs = nullptr;
    /// How leaves are stored, of trees for which setCodec() was not called. Each page knows how it
    /// was; large values and inner pages are as they are.
    Codec codec = Codec::kNone;
    /// Open in spite of damage: see Store::losses(). Until finishRepair() the directory opens in no
    /// other way.
    bool repair = false;
    /// Journal or data file have failed: as journal::Options::onFatal. Called once.
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
    uint64_t recordsReplayed = 0;
    uint64_t checkpoints = 0;           // since open()
    uint64_t lastCheckpointMillis = 0;  // how long it took
    int64_t lastCheckpointWallMs = 0;   // when it ended; 0 = never
    uint64_t pages = 0;
    uint64_t dirtyPages = 0;       // that the next checkpoint has to write
    uint64_t memoryBytes = 0;      // what pages take in memory; of all stores of the process
    uint64_t memoryBytesMax = 0;   // the ceiling; 0: none
    uint64_t leavesRead = 0;       // that were not in memory when they were needed
    uint64_t leavesReadAsync = 0;  // of those, by io_uring
    uint64_t leafBytesRead = 0;
    uint64_t leavesUnreadable = 0;
    uint64_t leavesEvicted = 0;
    bool spaceShort = false;  // commits that add something are refused
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
    /// Locks the directory, loads the newest checkpoint, replays the journal from there, ready for
    /// use. kUnavailable: another process has it (the text names its id). kCorruption: acknowledged
    /// data is damaged (the text names the place); not with StoreOptions::repair, as far as that
    /// goes.
    static StatusOr<std::unique_ptr<Store>> open(const StoreOptions& options);
    ~Store();
    /// REQUIRES: no Txn open, no ValueShare left. Makes everything durable, takes a checkpoint and
    /// closes the files.
    Status close();
    /// Takes a checkpoint, beside whatever else goes on; while they are held, nothing, as what was
    /// committed before is in the journal. Blocks: any thread but a reactor, outside every slice.
    /// kNoSpace: given up, to be tried again at the next interval. Another error is final and has
    /// gone to onFatal.
    Status checkpointNow();
    /// Takes a checkpoint, then none until releaseCheckpoints(), so that the files may be copied:
    /// all that is written meanwhile goes to the journal. Counted. Blocks and fails as
    /// checkpointNow(); after an error nothing is held. close() releases.
    Status holdCheckpoints();
    void releaseCheckpoints();
    /// Evicts whatever can be evicted, as if memory were short. Blocks as checkpointNow().
    void evictAll();
    /// The process is about to take much memory beside data: for a second it is looked at often,
    /// so that pages make room in time. Any thread; does not block.
    void expectMemoryUse();
    /// What StoreOptions::repair has cost: one line for each piece that is gone.
    const std::vector<std::string>& losses() const;
    /// Whether pieces of the tree may be gone: by this repair, or by one before it that has not
    /// come to its end.
    bool mayHaveLost(TreeId tree) const;
    /// REQUIRES: StoreOptions::repair. What depends on the pieces that are gone has been mended:
    /// takes a checkpoint, then the directory opens normally again. Blocks as checkpointNow().
    Status finishRepair();
    /// Reads and checks the data file, as of the newest checkpoint. Blocks as checkpointNow(), and
    /// holds up checkpoints meanwhile.
    StatusOr<FilesReport> verifyFiles();

    /// The tree of that id; an empty one when there is none. Whether a tree exists is the catalog's
    /// knowledge: an empty tree costs nothing on disk.
    TreeRef tree(TreeId id);
    /// An id that no record of this data directory has ever named.
    TreeId newTreeId();
    /// Ids seen in use elsewhere (the catalog's entries): newTreeId() will stay above them.
    void reserveTreeIds(TreeId upTo);
    /// Forgets the tree. Holders of its TreeRef may go on reading; its memory goes with the last of
    /// them.
    void dropTree(TreeId id);
    /// How leaves of the tree are stored from now on, until the store is closed; at first as
    /// StoreOptions::codec says.
    void setCodec(TreeId id, Codec codec);
    /// What the tree's pages take in the data file, in the images that the last checkpoint names.
    uint64_t storedBytes(TreeId id) const;
    /// All trees that hold anything or were asked for, ascending.
    std::vector<TreeId> treeIds();

    sync::EpochDomain& epochs();
    /// REQUIRES: not StoreOptions::withoutJournal.
    journal::Journal& journal();
    StoreStats stats();
    /// What the calling thread has added to the memory that data takes less what it has freed of
    /// it, in all stores: of use as a difference.
    static int64_t threadDataBytes();
    /// As it was opened.
    const StoreOptions& options() const;

private:
    friend class Txn;
    friend class Cursor;
    struct Impl;
    explicit Store(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// What a writer does when another transaction's uncommitted change is in its way.
enum class OnConflict : uint8_t {
    kWait,  // single-document operations: WouldBlock until that transaction ends
    kFail   // multi-document transactions: kConflict at once
};

/// What a caller does with a WouldBlock.
enum class Waits : uint8_t {
    kForToken,  // goes on with other work until token() is complete: reactors
    kHere       // calls Txn::await() next: plain threads
};

/// A transaction: reads see the snapshot taken at begin() plus its own writes. The store outlives
/// it. Every call that reads or writes, commit() as well, may find that the snapshot has been ended
/// (StoreOptions::snapshotMillisMax): kConflict with Reason::kSnapshotTooOld; abort and run again.
/// So with kTransactionEnded for one that has written much and slept while memory was short of it,
/// or was too old (StoreOptions::transactionMillisMax).
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
    /// good as long as that is. A hint (of this tree) spares the way down if it is right.
    Status getInPlace(Tree& tree, ByteView key, ByteView* value, LeafHint hint = {});
    /// As getInPlace(), with a share of a value that is large enough.
    Status getShared(Tree& tree, ByteView key, SharedRead* read, LeafHint hint = {});
    /// Sets the key's value. kConflict: someone committed a change of the key after our snapshot;
    /// abort and run again. WouldBlock: wait for token().
    Status put(Tree& tree, ByteView key, ByteView value);
    /// As put for a key that must not have a live value; kExists when it has one in the newest
    /// committed state (or our own writes), whatever the snapshot says: uniqueness is not a matter
    /// of snapshots.
    Status insert(Tree& tree, ByteView key, ByteView value);
    /// kNotFound when there is no visible value. kConflict and WouldBlock as put.
    Status erase(Tree& tree, ByteView key);

    /// All or nothing, at one point in time. WouldBlock: the journal is full; call again. After ok
    /// the change is visible to others, and durable when waitFor() says so. A Txn without writes
    /// commits to nothing. Errors (kIo, kNoSpace, kUnavailable): nothing was committed. kNoSpace
    /// comes from a full journal or, but for transactions that only delete or only change the
    /// catalog, from a data file that cannot grow; it heals by itself when there is room again.
    Status commit();
    /// REQUIRES: committed. ok when the commit has reached the level; else WouldBlock.
    /// kUnsupported: beyond kNoSync, of a store without a journal.
    Status waitFor(Durability durability);
    /// Undoes all writes. The Txn can then begin() again.
    void abort();
    /// REQUIRES: committed, aborted, or nothing written yet. A new snapshot, a fresh start.
    void begin();

    /// REQUIRES: the last call returned WouldBlock, Waits::kForToken.
    const sync::WaitToken& token() const;
    /// Parks the calling plain thread until it is worth calling again; a page that is to be read is
    /// read by this thread. REQUIRES: the last call returned WouldBlock, Waits::kHere, outside
    /// every slice; the tree is still held.
    void await();
    /// The snapshot: commits with a timestamp up to this are visible.
    uint64_t readTs() const;
    bool hasWrites() const;
    /// REQUIRES: committed with writes, in a store with a journal.
    journal::Lsn commitLsn() const;

private:
    friend class Cursor;
    friend class RangeCount;
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// What a leaf has that cannot be read.
struct LostRange {
    std::string low;       // keys from here on; empty: from the first one
    std::string high;      // up to but not with this; empty: to the last one
    uint64_t entries = 0;  // that the leaf has on disk
};

/// Walks a tree in key order, in both directions, through a Txn's eyes. Holds no page between calls
/// (each call finds its place again by key unless the page is still the same), so it survives any
/// number of suspensions, splits and new snapshots of its Txn.
class Cursor {
public:
    /// The Txn and the tree must outlive the cursor.
    Cursor(Txn& txn, TreeRef tree);
    ~Cursor();
    Cursor(const Cursor&) = delete;
    Cursor& operator=(const Cursor&) = delete;

    /// To the first key >= `key`. After each of these valid() tells whether there was one.
    Status seek(ByteView key);
    /// To the last key <= `key`.
    Status seekBefore(ByteView key);
    Status first();
    Status last();
    /// REQUIRES valid().
    Status next();
    Status prev();

    bool valid() const;
    /// After a call that returned an error because a leaf cannot be read: what that leaf has. A
    /// walk upward can go on behind it, by seek(high). Else null.
    const LostRange* lost() const;
    /// REQUIRES valid(). Stable until the next call on this cursor (the cursor holds copies).
    ByteView key() const;
    ByteView value() const;
    /// REQUIRES valid(). A share of the value if that has at least so many bytes, else an empty
    /// one.
    ValueShare share(size_t bytesMin) const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace freshet::engine
