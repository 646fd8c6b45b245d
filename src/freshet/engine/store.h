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
#include "freshet/journal/journal.h"
#include "freshet/platform/file.h"
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
inline constexpr size_t kKeyBytesMax = 64 * 1024;
inline constexpr size_t kValueBytesMax = 17u << 20;

/// When a commit may be acknowledged (source 001): appended, handed to the system, on stable
/// storage.
enum class Durability : uint8_t { kNoSync, kWritten, kDurable };

class Tree;  // opaque; use through Txn and Cursor
using TreeRef = std::shared_ptr<Tree>;

struct StoreOptions {
    platform::FileSystem* files = nullptr;
    std::string directory;  // dbpath; created when missing
    uint32_t journalCommitIntervalMs = 100;
    uint64_t journalSegmentBytesMax = 128u << 20;
    std::function<void(const Status&)> onFatal;  // see journal::Options
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
};

class Store {
public:
    /// Locks the directory, replays the journal, ready for use. kUnavailable: another process has
    /// it (the text names its id). kCorruption: acknowledged data is damaged (the text names the
    /// place).
    static StatusOr<std::unique_ptr<Store>> open(const StoreOptions& options);
    ~Store();
    /// REQUIRES: no Txn open. Makes everything durable and closes the journal.
    Status close();

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
    /// All trees that hold anything or were asked for, ascending.
    std::vector<TreeId> treeIds();

    sync::EpochDomain& epochs();
    journal::Journal& journal();
    StoreStats stats();

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

/// A transaction: reads see the snapshot taken at begin() plus its own writes.
class Txn {
public:
    explicit Txn(Store& store, OnConflict onConflict = OnConflict::kWait);
    /// Aborts unless committed.
    ~Txn();
    Txn(const Txn&) = delete;
    Txn& operator=(const Txn&) = delete;

    /// kNotFound when there is no visible value.
    Status get(Tree& tree, ByteView key, std::string* value);
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
    /// commits to nothing. Errors (kIo, kNoSpace, kUnavailable): nothing was committed.
    Status commit();
    /// REQUIRES: committed. ok when the commit has reached the level; else WouldBlock.
    Status waitFor(Durability durability);
    /// Undoes all writes. The Txn can then begin() again.
    void abort();
    /// REQUIRES: committed, aborted, or nothing written yet. A new snapshot, a fresh start.
    void begin();

    /// REQUIRES: the last call returned WouldBlock.
    const sync::WaitToken& token() const;
    /// The snapshot: commits with a timestamp up to this are visible.
    uint64_t readTs() const;
    bool hasWrites() const;
    /// REQUIRES: committed with writes.
    journal::Lsn commitLsn() const;

private:
    friend class Cursor;
    struct Impl;
    std::unique_ptr<Impl> impl_;
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
    /// REQUIRES valid(). Stable until the next call on this cursor (the cursor holds copies).
    ByteView key() const;
    ByteView value() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace freshet::engine
