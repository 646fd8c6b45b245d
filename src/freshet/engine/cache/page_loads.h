// SPDX-License-Identifier: Apache-2.0
/// Brings leaves back into memory: reads their images on threads of its own, so that no caller
/// waits for the disk on its own thread. One thread has many reads under way at once (io_uring);
/// where the system or the file does not support that, four threads do one read each (decision
/// 0024). Each leaf is read once; other callers that need it wait for the same read. A plain
/// thread, which could only wait, reads the leaf itself. Design: docs/design/engine.md, "Memory
/// ceiling and eviction".
#pragma once

#include "freshet/block/block_file.h"
#include "freshet/engine/memory/memory_budget.h"
#include "freshet/engine/node/disk_leaf.h"
#include "freshet/engine/tree/tree.h"
#include "freshet/platform/thread.h"
#include "freshet/sync/epoch.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace freshet::engine {

struct LoadStats {
    uint64_t leaves = 0;
    uint64_t leavesAsync = 0;  // of those, read by io_uring
    uint64_t bytes = 0;
    uint64_t failures = 0;
};

class PageLoads {
public:
    /// `file` must live until stop(), the others as long as this.
    PageLoads(TreeEnv& env,
              sync::EpochDomain& epochs,
              MemoryBudget& memory,
              const block::BlockFile& file)
        : env_(env), epochs_(epochs), memory_(memory), file_(file) {}
    ~PageLoads() { stop(); }
    PageLoads(const PageLoads&) = delete;
    PageLoads& operator=(const PageLoads&) = delete;

    /// REQUIRES: the slice in which `fault` was found. WouldBlock: wait for the token and start
    /// again from the tree's root. Any other error: the image cannot be read, now or later.
    Status want(Tree& tree, const Fault& fault, sync::WaitToken* token);
    /// The same for a plain thread, which calls await() instead of waiting for a token.
    Status wantHere(const Fault& fault);
    /// Reads the leaf of the key if it is not in memory, or waits for another thread that reads it.
    /// REQUIRES: a plain thread, outside every slice; the tree stays.
    void await(PageTree& tree, ByteView key);
    /// When this returns ok, the page's leaf is in memory. Blocks: plain threads, outside every
    /// slice. REQUIRES: the tree stays, and nothing is evicted meanwhile.
    Status bringBack(PageTree& tree, PageEntry* entry);
    /// Finishes the requested reads and accepts no more: want() fails from here on.
    void stop();
    LoadStats stats();

private:
    /// The fault's page cannot be removed before its leaf is back (tree_remove.cpp); nothing else
    /// keeps it.
    struct Request {
        std::shared_ptr<Tree> tree;
        Fault fault;
    };
    enum class LoadedFor : uint8_t {
        kReader,      // a waiting caller, which should still find the leaf when it runs
        kCheckpoint,  // or the opening: not used again afterwards
    };
    /// A leaf that was read, or the error, and the number of bytes read for it.
    struct Result {
        StatusOr<LeafNode*> leaf;
        uint64_t bytes = 0;
        bool isAsync = false;
    };
    static constexpr size_t kThreads = 4;

    bool isStopping();
    bool add(Request request);
    /// Begins to read the leaf that find() says is missing, or joins the callers that wait for it;
    /// kOver also if none is missing. kFirst leaves `token` unset: this thread must read the leaf.
    /// REQUIRES: outside every slice; find() is called in one.
    template <typename Find>
    DiskLeaf::Join begin(const Find& find, Fault* fault, sync::WaitToken* token);
    /// Takes back the request for that leaf, unless a thread has begun with it.
    bool takeBack(const DiskLeaf* leaf);
    /// The request that has waited longest, if any.
    std::optional<Request> takeFirst();
    void awaitRoom();
    /// REQUIRES: the caller is the one that reads the leaf; outside every slice.
    Status load(PageTree& tree, const Fault& fault, LoadedFor purpose);
    Result read(PageTree& tree, const Fault& fault);
    /// The end of both ways to read: puts the leaf into the tree and completes the waiting tokens.
    Status install(PageTree& tree, const Fault& fault, LoadedFor purpose, Result result);

    /// Run by four threads, which the first one starts.
    void runPlain();

    // In page_loads_async.cpp: the thread that has many reads under way.
    class Ring;
    struct Arriving;
    /// The first thread: finds out which way to read.
    void runFirst();
    void runAsync(Ring& ring);
    enum class Next : uint8_t { kGoOn, kSleep, kEnd };
    Next nextStep(Ring& ring);
    void startReads(Ring& ring);
    bool hasRoom(Ring& ring);
    void start(Ring& ring, Request request);
    void arrive(Ring& ring, Arriving* arriving);
    void finish(Ring& ring, std::unique_ptr<Arriving> arrived);
    /// Wakes the thread if it sleeps among its reads; otherwise it waits for changed_. REQUIRES:
    /// mutex_.
    void wakeRing();

    TreeEnv& env_;
    sync::EpochDomain& epochs_;
    MemoryBudget& memory_;
    const block::BlockFile& file_;

    std::mutex mutex_;  // a leaf
    std::condition_variable changed_;
    std::deque<Request> requests_;           // guarded by mutex_; at most one for each leaf
    bool stopping_ = false;                  // guarded by mutex_
    LoadStats stats_;                        // guarded by mutex_
    std::vector<platform::Thread> threads_;  // guarded by mutex_; made when first needed
    Ring* ring_ = nullptr;                   // guarded by mutex_; null: there is none
};

}  // namespace freshet::engine
