// SPDX-License-Identifier: Apache-2.0
/// Brings leaves back into memory: reads their images on threads of its own, so that nobody who
/// runs into one waits for the disk on his own thread (DESIGN 5). One thread has many reads under
/// way at once (io_uring); where the system or the file does not do that, four threads with one
/// each (decision 0024). Each leaf is read once, whoever else asks waits for the same reading. A
/// plain thread, which would only wait, reads by itself.
#pragma once

#include "freshet/block/block_file.h"
#include "freshet/engine/store.h"
#include "freshet/engine/tree/disk_leaf.h"
#include "freshet/engine/tree/page_tree.h"
#include "freshet/platform/thread.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace freshet::engine {

struct StoreCore;

struct LoadStats {
    uint64_t leaves = 0;
    uint64_t leavesAsync = 0;  // of those, read by io_uring
    uint64_t bytes = 0;
    uint64_t failures = 0;
};

class PageLoads {
public:
    /// `file` must be there until stop().
    PageLoads(StoreCore& core, const block::BlockFile& file) : core_(core), file_(file) {}
    ~PageLoads() { stop(); }
    PageLoads(const PageLoads&) = delete;
    PageLoads& operator=(const PageLoads&) = delete;

    /// REQUIRES: the slice in which `fault` was found. WouldBlock: wait for the token and begin
    /// again, from the tree's root. Another error: the image cannot be read, now or later.
    Status want(Tree& tree, const Fault& fault, sync::WaitToken* token);
    /// The same for a plain thread, which is to call await() instead of waiting for a token.
    Status wantHere(const Fault& fault);
    /// Reads the leaf of the key if it is not in memory, or waits for who does. REQUIRES: a plain
    /// thread, outside every slice; the tree stays.
    void await(PageTree& tree, ByteView key);
    /// The page's leaf is in memory when this returns ok. Blocks: plain threads, outside every
    /// slice. REQUIRES: the tree stays, and nothing is evicted meanwhile.
    Status bringBack(PageTree& tree, PageEntry* entry);
    /// Reads what was asked for, then no more: want() fails from here on.
    void stop();
    LoadStats stats();

private:
    /// Its page cannot go before the leaf is back (tree_remove.cpp), which nobody else sees to.
    struct Request {
        TreeRef tree;
        Fault fault;
    };
    enum class LoadedFor : uint8_t {
        kReader,      // who waits for it, and should find it when his turn comes
        kCheckpoint,  // or the opening: nobody comes for it afterwards
    };
    /// A leaf that was read, or why not, and the bytes that were read for it.
    struct Result {
        StatusOr<LeafNode*> leaf;
        uint64_t bytes = 0;
        bool isAsync = false;
    };
    static constexpr size_t kThreads = 4;

    bool isStopping();
    bool add(Request request);
    /// Begins with the leaf that find() says is missing, or joins those who wait for it; kOver also
    /// for none. Who is first needs no token. REQUIRES: outside every slice; find() is called in
    /// one.
    template <typename Find>
    DiskLeaf::Join begin(const Find& find, Fault* fault, sync::WaitToken* token);
    /// Takes the request for that leaf back, if no thread has begun with it.
    bool takeBack(const DiskLeaf* leaf);
    /// The one that has waited longest, if there is one.
    std::optional<Request> takeFirst();
    void awaitRoom();
    /// REQUIRES: is the one who reads it; outside every slice.
    Status load(PageTree& tree, const Fault& fault, LoadedFor whom);
    Result read(PageTree& tree, const Fault& fault);
    /// The end of both ways to read: into the tree with it, and whoever waits is told.
    Status install(PageTree& tree, const Fault& fault, LoadedFor whom, Result result);

    /// Four threads run this, made by the one that does first.
    void runPlain();

    // page_loads_async.cpp: the thread that has many reads under way.
    class Ring;
    struct Arriving;
    /// The first thread: finds out which way to read.
    void runFirst();
    void runAsync(Ring& ring);
    enum class Next : uint8_t { kGoOn, kSleep, kEnd };
    Next whatNow(Ring& ring);
    void startReads(Ring& ring);
    bool isThereRoom(Ring& ring);
    void start(Ring& ring, Request request);
    void arrive(Ring& ring, Arriving* arriving);
    void finish(Ring& ring, std::unique_ptr<Arriving> arrived);
    /// If it sleeps among its reads; else it waits for changed_. REQUIRES: mutex_.
    void wakeRing();

    StoreCore& core_;
    const block::BlockFile& file_;

    std::mutex mutex_;  // a leaf
    std::condition_variable changed_;
    std::deque<Request> requests_;           // guarded by mutex_; one for each leaf at most
    bool stopping_ = false;                  // guarded by mutex_
    LoadStats stats_;                        // guarded by mutex_
    std::vector<platform::Thread> threads_;  // guarded by mutex_; made when first needed
    Ring* ring_ = nullptr;                   // guarded by mutex_; null: there is none
};

}  // namespace freshet::engine
