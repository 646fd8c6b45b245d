// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/cache/page_loads.h"

#include "freshet/engine/cache/leaf_from_image.h"
#include "freshet/telemetry/log.h"

#include <algorithm>
#include <utility>

namespace freshet::engine {

namespace {

Status stopped() {
    return Status(Code::kUnavailable, "the store is closed");
}

}  // namespace

Status PageLoads::want(Tree& tree, const Fault& fault, sync::WaitToken* token) {
    switch (fault.leaf->join(token)) {
        case DiskLeaf::Join::kFailed:
            return fault.leaf->failure();
        case DiskLeaf::Join::kFirst:
            if (!add({tree.shared_from_this(), fault})) {
                DiskLeaf::wake(fault.leaf->close(stopped()));
                return stopped();
            }
            break;
        case DiskLeaf::Join::kLater:
        case DiskLeaf::Join::kOver:
            break;
    }
    return Status::wouldBlock();
}

Status PageLoads::wantHere(const Fault& fault) {
    FRESHET_RETURN_IF_ERROR(fault.leaf->failure());
    return isStopping() ? stopped() : Status::wouldBlock();
}

template <typename Find>
DiskLeaf::Join PageLoads::begin(const Find& find, Fault* fault, sync::WaitToken* token) {
    sync::Slice slice(epochs_);
    *fault = find();
    if (fault->leaf == nullptr) {
        return DiskLeaf::Join::kOver;
    }
    return fault->leaf->begin() ? DiskLeaf::Join::kFirst : fault->leaf->join(token);
}

Status PageLoads::bringBack(PageTree& tree, PageEntry* entry) {
    for (;;) {
        Fault fault;
        sync::WaitToken token;
        switch (begin([&] { return LeafEviction::faultAt(entry); }, &fault, &token)) {
            case DiskLeaf::Join::kFirst:
                return load(tree, fault, LoadedFor::kCheckpoint);
            case DiskLeaf::Join::kOver:
                return Status::ok();
            case DiskLeaf::Join::kFailed:
                return fault.leaf->failure();  // the DiskLeaf lives as long as the tree
            case DiskLeaf::Join::kLater:
                break;
        }
        // Another caller has requested it, or is about to. That read may wait for room in memory,
        // which may in turn wait for this thread: so the leaf is read here, unless the read has
        // begun.
        while (!token.isDone()) {
            if (takeBack(fault.leaf)) {
                return load(tree, fault, LoadedFor::kCheckpoint);
            }
            platform::sleepMillis(1);
        }
    }
}

void PageLoads::await(PageTree& tree, ByteView key) {
    // Before the read begins: the checkpoint, which makes room, may need this leaf.
    awaitRoom();
    Fault fault;
    sync::WaitToken token;
    switch (begin([&] { return tree.faultAt(key); }, &fault, &token)) {
        case DiskLeaf::Join::kFirst:
            // install() informs the waiters, and later callers find the failure in the leaf.
            (void)load(tree, fault, LoadedFor::kReader);
            break;
        case DiskLeaf::Join::kLater:
            sync::blockOn(token);
            break;
        case DiskLeaf::Join::kOver:
        case DiskLeaf::Join::kFailed:
            break;
    }
}

bool PageLoads::takeBack(const DiskLeaf* leaf) {
    std::lock_guard<std::mutex> guard(mutex_);
    const auto found = std::find_if(requests_.begin(), requests_.end(), [&](const Request& asked) {
        return asked.fault.leaf == leaf;
    });
    if (found == requests_.end()) {
        return false;
    }
    requests_.erase(found);
    return true;
}

bool PageLoads::isStopping() {
    std::lock_guard<std::mutex> guard(mutex_);
    return stopping_;
}

std::optional<PageLoads::Request> PageLoads::takeFirst() {
    std::lock_guard<std::mutex> guard(mutex_);
    if (requests_.empty()) {
        return std::nullopt;
    }
    Request request = std::move(requests_.front());
    requests_.pop_front();
    return request;
}

void PageLoads::awaitRoom() {
    // A caller that needs a leaf in memory does not wait for this request, which stays where
    // bringBack() finds it.
    if (sync::WaitToken room; memory_.mustWait(&room)) {
        sync::blockOn(room);
    }
}

bool PageLoads::add(Request request) {
    {
        std::lock_guard<std::mutex> guard(mutex_);
        if (stopping_) {
            return false;
        }
        if (threads_.empty()) {
            threads_.emplace_back("page-load", [this] { runFirst(); });
        }
        requests_.push_back(std::move(request));
        wakeRing();
    }
    changed_.notify_one();
    return true;
}

void PageLoads::runPlain() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!stopping_) {
        while (threads_.size() < kThreads) {
            threads_.emplace_back("page-load", [this] { runPlain(); });
        }
    }
    for (;;) {
        changed_.wait(lock, [this] { return stopping_ || !requests_.empty(); });
        if (requests_.empty()) {
            return;
        }
        lock.unlock();
        awaitRoom();
        if (std::optional<Request> request = takeFirst()) {
            // install() informs the waiters.
            (void)load(request->tree->pages(), request->fault, LoadedFor::kReader);
        }
        lock.lock();
    }
}

void PageLoads::stop() {
    std::vector<platform::Thread> threads;
    {
        std::lock_guard<std::mutex> guard(mutex_);
        stopping_ = true;
        threads.swap(threads_);
        wakeRing();
    }
    changed_.notify_all();
    for (platform::Thread& thread : threads) {
        thread.join();
    }
}

PageLoads::Result PageLoads::read(PageTree& tree, const Fault& fault) {
    block::PageBuffer memory;
    uint64_t bytes = 0;
    auto readImage = [&](PageId page, const block::PagePlace& place, block::PageBuffer* buffer) {
        bytes += place.extent.blocks * block::kBlockBytes;
        StatusOr<ByteView> image = file_.readPage(page, place, buffer);
        // Once more: the device may have torn the read, not the page.
        return image.isOk() ? image : file_.readPage(page, place, buffer);
    };
    StatusOr<LeafNode*> leaf =
        leafFromImage(env_, tree, *fault.entry, *fault.leaf, readImage, &memory);
    return {std::move(leaf), bytes};
}

Status PageLoads::load(PageTree& tree, const Fault& fault, LoadedFor purpose) {
    return install(tree, fault, purpose, read(tree, fault));
}

Status PageLoads::install(PageTree& tree, const Fault& fault, LoadedFor purpose, Result result) {
    Status status;
    if (!result.leaf.isOk()) {
        status = result.leaf.status().withContext("tree " + std::to_string(tree.id()) + ", page " +
                                                  std::to_string(fault.entry->id));
        telemetry::logError("engine", "a page cannot be read: " + status.toString());
    }
    {
        std::lock_guard<std::mutex> guard(mutex_);
        ++(status.isOk() ? stats_.leaves : stats_.failures);
        stats_.leavesAsync += status.isOk() && result.isAsync ? 1 : 0;
        stats_.bytes += result.bytes;
    }
    DiskLeaf::Waiting* waiting = nullptr;
    {
        sync::Slice slice(epochs_);
        if (status.isOk()) {
            LeafNode* leaf = *result.leaf;
            if (purpose == LoadedFor::kReader) {
                leaf->keepUntilTouched();
            }
            tree.eviction().bringBack(fault, leaf);
        }
        waiting = fault.leaf->close(status);
    }
    DiskLeaf::wake(waiting);
    memory_.note();
    return status;
}

LoadStats PageLoads::stats() {
    std::lock_guard<std::mutex> guard(mutex_);
    return stats_;
}

}  // namespace freshet::engine
