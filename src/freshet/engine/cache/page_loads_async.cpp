// SPDX-License-Identifier: Apache-2.0
/// One thread that has the reads of many leaves under way at once. It waits only for reads,
/// requests and room in memory, and for all of them in one place: the checkpoint may need a leaf
/// that is being read, and making room may need the checkpoint.
#include "freshet/engine/cache/leaf_from_image.h"
#include "freshet/engine/cache/page_loads.h"
#include "freshet/platform/async_reads.h"
#include "freshet/telemetry/fail_point.h"
#include "freshet/telemetry/log.h"

#include <algorithm>
#include <utility>

namespace freshet::engine {
namespace {

using platform::AsyncReads;

/// Devices get no faster with more, and each leaf under way exceeds the ceiling a little more.
constexpr size_t kLeavesMax = 64;
constexpr uint64_t kBytesMax = 4u << 20;
/// With a small ceiling fewer bytes, but at least as many leaves as the threads without io_uring
/// would read.
constexpr uint64_t kCeilingPart = 16;
constexpr size_t kLeavesAlways = 4;

/// When it fires, the system seems to have no io_uring.
telemetry::FailPoint noAsyncReads("engineNoAsyncReads");

StatusOr<std::unique_ptr<AsyncReads>> openReads() {
    if (noAsyncReads.fire([](const std::string&) { return true; }) != nullptr) {
        return Status(Code::kUnavailable, "a test says so");
    }
    return AsyncReads::create(kLeavesMax);
}

uint64_t bytesOf(const Fault& fault) {
    uint64_t blocks = fault.entry->place.extent.blocks;
    for (const DiskLeaf::LargeValue& value : fault.leaf->largeValues()) {
        blocks += value.place.extent.blocks;
    }
    return blocks * block::kBlockBytes;
}

}  // namespace

/// What the thread waits for. Its own, except for what mutex_ guards.
class PageLoads::Ring {
public:
    Ring(PageLoads& loads, std::unique_ptr<AsyncReads> asyncReads)
        : reads(std::move(asyncReads)), roomCame(loads) {}

    bool isFull(uint64_t ceiling) const {
        const uint64_t bytesMax =
            ceiling == 0 ? kBytesMax : std::min(kBytesMax, ceiling / kCeilingPart);
        return leaves >= kLeavesAlways && (leaves >= kLeavesMax || bytes >= bytesMax);
    }

    /// Tells the thread that an eviction round is over. Through mutex_: the thread must not end
    /// before the caller has left this object.
    struct RoomCame : sync::Waiter {
        explicit RoomCame(PageLoads& owner) : loads(owner) { wake = &tell; }
        static void tell(Waiter* self) {
            PageLoads& loads = static_cast<RoomCame*>(self)->loads;
            std::lock_guard<std::mutex> guard(loads.mutex_);
            loads.ring_->waitsForRoom = false;
            loads.wakeRing();
            loads.changed_.notify_one();
        }
        PageLoads& loads;
    };

    const std::unique_ptr<AsyncReads> reads;
    size_t leaves = 0;  // under way
    uint64_t bytes = 0;
    size_t granted = 0;  // leaves that need not ask for room, after waiting for a round
    RoomCame roomCame;
    bool waitsForRoom = false;  // guarded by mutex_
    bool isAsleep = false;      // or about to sleep; guarded by mutex_
};

/// A leaf whose pages are being read: its own page, then those of its large values.
struct PageLoads::Arriving {
    struct Page {
        AsyncReads::Read read;
        block::PageBuffer buffer;
    };
    explicit Arriving(Request asked)
        : request(std::move(asked)),
          bytes(bytesOf(request.fault)),
          pages(1 + request.fault.leaf->largeValues().size()) {}

    Request request;
    const uint64_t bytes;
    std::vector<Page> pages;  // never resized: reads point into it
    size_t missing = 0;
};

void PageLoads::wakeRing() {
    if (ring_ != nullptr && std::exchange(ring_->isAsleep, false)) {
        ring_->reads->wake();
    }
}

void PageLoads::runFirst() {
    if (file_.canReadAsync()) {
        StatusOr<std::unique_ptr<AsyncReads>> reads = openReads();
        if (reads.isOk()) {
            platform::stepForward();
            Ring ring(*this, std::move(*reads));
            runAsync(ring);
            return;
        }
        telemetry::logInfo(
            "engine",
            "pages are read by blocking threads, without io_uring: " + reads.status().toString());
    }
    runPlain();
}

void PageLoads::runAsync(Ring& ring) {
    {
        std::lock_guard<std::mutex> guard(mutex_);
        ring_ = &ring;
    }
    for (;;) {
        startReads(ring);
        AsyncReads::Read* read = ring.reads->poll();
        if (read == nullptr) {
            switch (nextStep(ring)) {
                case Next::kGoOn:
                    continue;
                case Next::kSleep:
                    read = ring.reads->await();
                    break;
                case Next::kEnd:
                    return;
            }
        }
        if (read != nullptr) {
            arrive(ring, static_cast<Arriving*>(read->owner));
        }
    }
}

PageLoads::Next PageLoads::nextStep(Ring& ring) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (ring.leaves == 0) {
        // Not in the ring: waking this thread is cheaper this way.
        changed_.wait(lock,
                      [&] { return !ring.waitsForRoom && (stopping_ || !requests_.empty()); });
        if (requests_.empty()) {
            ring_ = nullptr;
            return Next::kEnd;
        }
        return Next::kGoOn;
    }
    if (!requests_.empty() && !ring.waitsForRoom && !ring.isFull(memory_.limit())) {
        return Next::kGoOn;
    }
    ring.isAsleep = true;
    return Next::kSleep;
}

void PageLoads::startReads(Ring& ring) {
    while (!ring.isFull(memory_.limit())) {
        {
            std::lock_guard<std::mutex> guard(mutex_);
            ring.isAsleep = false;
            if (requests_.empty() || ring.waitsForRoom) {
                return;
            }
        }
        if (!hasRoom(ring)) {
            return;
        }
        // Until there is room, the request stays where bringBack() finds it.
        std::optional<Request> request = takeFirst();
        if (!request) {
            return;
        }
        start(ring, std::move(*request));
    }
}

bool PageLoads::hasRoom(Ring& ring) {
    if (ring.granted > 0) {
        --ring.granted;
        return true;
    }
    sync::WaitToken room;
    if (!memory_.mustWait(&room)) {
        return true;
    }
    ring.granted = kThreads;
    {
        std::lock_guard<std::mutex> guard(mutex_);
        ring.waitsForRoom = true;
    }
    if (!room.arm(&ring.roomCame)) {
        Ring::RoomCame::tell(&ring.roomCame);
    }
    return false;
}

void PageLoads::start(Ring& ring, Request request) {
    auto arriving = std::make_unique<Arriving>(std::move(request));
    ++ring.leaves;
    ring.bytes += arriving->bytes;
    const Fault& fault = arriving->request.fault;
    for (size_t i = 0; i < arriving->pages.size(); ++i) {
        auto& [read, buffer] = arriving->pages[i];
        const DiskLeaf::LargeValue at =
            i == 0 ? DiskLeaf::LargeValue{fault.entry->id, fault.entry->place}
                   : fault.leaf->largeValues()[i - 1];
        read.owner = arriving.get();
        read.status = file_.startRead(at.page, at.place, &buffer, ring.reads.get(), &read);
        arriving->missing += read.status.isOk() ? 1 : 0;
    }
    if (arriving->missing == 0) {
        finish(ring, std::move(arriving));
    } else {
        arriving.release();  // now owned by its reads
    }
}

void PageLoads::arrive(Ring& ring, Arriving* arriving) {
    if (--arriving->missing == 0) {
        finish(ring, std::unique_ptr<Arriving>(arriving));
    }
}

void PageLoads::finish(Ring& ring, std::unique_ptr<Arriving> arrived) {
    --ring.leaves;
    ring.bytes -= arrived->bytes;
    PageTree& tree = arrived->request.tree->pages();
    const Fault& fault = arrived->request.fault;
    size_t next = 0;
    auto readImage = [&](PageId page, const block::PagePlace& place, block::PageBuffer* buffer) {
        Arriving::Page& came = arrived->pages[next++];
        *buffer = std::move(came.buffer);
        StatusOr<ByteView> image = file_.openRead(page, place, came.read, buffer);
        // Once more, now waiting for it, as for pages read by the four threads: the device may have
        // torn the read, not the page.
        return image.isOk() ? image : file_.readPage(page, place, buffer);
    };
    block::PageBuffer memory;
    StatusOr<LeafNode*> leaf =
        leafFromImage(env_, tree, *fault.entry, *fault.leaf, readImage, &memory);
    // On an error too: install() passes it to the waiting callers.
    (void)install(tree, fault, LoadedFor::kReader, {std::move(leaf), arrived->bytes, true});
}

}  // namespace freshet::engine
