// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/cache/page_loads.h"

#include "freshet/engine/page/leaf_from_image.h"
#include "freshet/engine/txn/store_core.h"
#include "freshet/telemetry/log.h"

#include <algorithm>
#include <utility>

namespace freshet::engine {

Status PageLoads::want(Tree& tree, const Fault& fault, Reader reader, sync::WaitToken* token) {
    switch (fault.leaf->join(token)) {
        case DiskLeaf::Join::kFailed:
            return fault.leaf->failure();
        case DiskLeaf::Join::kFirst:
            if (!add({tree.shared_from_this(), fault}, reader)) {
                const Status stopped(Code::kUnavailable, "the store is closed");
                DiskLeaf::wake(fault.leaf->close(stopped));
                return stopped;
            }
            break;
        case DiskLeaf::Join::kLater:
        case DiskLeaf::Join::kOver:
            break;
    }
    return Status::wouldBlock();
}

Status PageLoads::bringBack(PageTree& tree, PageEntry* entry) {
    Fault fault{entry, nullptr};
    sync::WaitToken token;
    for (;;) {
        auto joined = DiskLeaf::Join::kOver;
        {
            sync::Slice slice(core_.epochs);
            Node* node = nodeOf(*entry);
            if (!node->isOnDisk) {
                return Status::ok();
            }
            fault.leaf = static_cast<DiskLeaf*>(node);
            joined = fault.leaf->join(&token);
            if (joined == DiskLeaf::Join::kFailed) {
                return fault.leaf->failure();
            }
        }
        if (joined == DiskLeaf::Join::kFirst) {
            return load(tree, fault, LoadedFor::kCheckpoint);
        }
        // Somebody has asked for it, or is about to. His reading may wait for room in memory, which
        // may wait for us: it is done here, unless it has begun.
        while (!token.isDone()) {
            if (takeOver(fault.leaf)) {
                return load(tree, fault, LoadedFor::kCheckpoint);
            }
            platform::sleepMillis(1);
        }
    }
}

void PageLoads::await(const Fault& fault, const sync::WaitToken& token) {
    if (!token.isDone()) {
        awaitRoom();
        // The leaf may be gone, and its memory another leaf's, for whose readers this is as good.
        if (std::optional<Request> ours = takeOver(fault.leaf)) {
            // Whoever waits is told.
            (void)load(ours->tree->pages(), ours->fault, LoadedFor::kReader);
        }
    }
    sync::blockOn(token);
}

std::optional<PageLoads::Request> PageLoads::takeOver(const DiskLeaf* leaf) {
    std::lock_guard<std::mutex> guard(mutex_);
    const auto found = std::find_if(requests_.begin(), requests_.end(), [&](const Request& asked) {
        return asked.fault.leaf == leaf;
    });
    if (found == requests_.end()) {
        return std::nullopt;
    }
    Request request = std::move(*found);
    requests_.erase(found);
    return request;
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
    // Who needs what is in memory does not wait for this one. The request stays where bringBack()
    // finds it.
    if (sync::WaitToken room; core_.memory.mustWait(&room)) {
        sync::blockOn(room);
    }
}

bool PageLoads::add(Request request, Reader reader) {
    {
        std::lock_guard<std::mutex> guard(mutex_);
        if (stopping_) {
            return false;
        }
        if (threads_.empty()) {
            threads_.emplace_back("page-load", [this] { runFirst(); });
        }
        requests_.push_back(std::move(request));
        if (reader == Reader::kOurs) {
            wakeRing();
        }
    }
    if (reader == Reader::kOurs) {
        changed_.notify_one();
    }
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
            // Whoever waits is told.
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
        // Once more: the device may have torn the reading, not the page.
        return image.isOk() ? image : file_.readPage(page, place, buffer);
    };
    StatusOr<LeafNode*> leaf =
        leafFromImage(core_, tree, *fault.entry, *fault.leaf, readImage, &memory);
    return {std::move(leaf), bytes};
}

Status PageLoads::load(PageTree& tree, const Fault& fault, LoadedFor whom) {
    return install(tree, fault, whom, read(tree, fault));
}

Status PageLoads::install(PageTree& tree, const Fault& fault, LoadedFor whom, Result result) {
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
        sync::Slice slice(core_.epochs);
        if (status.isOk()) {
            LeafNode* leaf = *result.leaf;
            if (whom == LoadedFor::kReader) {
                leaf->keepUntilTouched();
            }
            tree.bringBack(fault, leaf);
        }
        waiting = fault.leaf->close(status);
    }
    DiskLeaf::wake(waiting);
    core_.memory.note();
    return status;
}

LoadStats PageLoads::stats() {
    std::lock_guard<std::mutex> guard(mutex_);
    return stats_;
}

}  // namespace freshet::engine
