// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/node/disk_leaf.h"

#include "freshet/base/assert.h"

#include <memory>
#include <utility>

namespace freshet::engine {

using sync::kAcqRel;
using sync::kAcquire;
using sync::kRelaxed;
using sync::kRelease;

namespace {

std::vector<DiskLeaf::LargeValue> largeValuesOf(const LeafImage& image) {
    std::vector<DiskLeaf::LargeValue> found;
    image.forEachLarge([&](ValueBuffer& buffer) {
        found.push_back({buffer.page(), buffer.place()});
    });
    return found;
}

}  // namespace

std::unique_ptr<const DiskLeaf::LargeValues> DiskLeaf::kept(LargeValues values) {
    values.shrink_to_fit();
    return values.empty() ? nullptr : std::make_unique<const LargeValues>(std::move(values));
}

size_t DiskLeaf::weight() const {
    return sizeof(DiskLeaf) + low.memoryBytes() + high.memoryBytes() + largeValues().size_bytes();
}

DiskLeaf::DiskLeaf(const LeafNode& leaf, size_t entryCount, size_t entryBytes)
    : Node(0, leaf.low, leaf.high, leaf.right, true),
      entries(static_cast<uint32_t>(entryCount)),
      bytes(static_cast<uint32_t>(entryBytes)),
      largeValues_(kept(largeValuesOf(leaf.image))) {
    sync::notePlainWrite(this);
    MemoryCount::add(weight());
}

DiskLeaf::DiskLeaf(ByteView lowFence,
                   ByteView highFence,
                   size_t entryCount,
                   std::vector<LargeValue> large)
    : Node(0, lowFence, highFence, nullptr, true),
      entries(static_cast<uint32_t>(entryCount)),
      bytes(0),
      largeValues_(kept(std::move(large))) {
    MemoryCount::add(weight());
}

DiskLeaf::~DiskLeaf() {
    MemoryCount::subtract(weight());
}

DiskLeaf::Waiting* DiskLeaf::listOf(uintptr_t word) {
    return word == kBegun ? nullptr : reinterpret_cast<Waiting*>(word);
}

DiskLeaf::Join DiskLeaf::join(sync::WaitToken* token) {
    auto fresh = std::make_unique<Waiting>();
    fresh->token = sync::WaitToken::create();
    *token = fresh->token;
    // [load.look] acquire: pairs with [load.close]: failure_ is complete.
    uintptr_t seen = waiting_.load(kAcquire);
    for (;;) {
        if (seen == kLoaded) {
            token->complete();
            return Join::kOver;
        }
        if (seen == kGivenUp) {
            return Join::kFailed;
        }
        fresh->next = listOf(seen);
        // [load.join] CAS. ORDER: release pairs with [load.close]: the node is complete. Acquire on
        //            failure: as [load.look].
        //   LOST     another waiter came, or the list was closed: look again.
        //   PROGRESS lock-free: our failure is another's success.
        if (waiting_.compare_exchange_weak(
                seen, reinterpret_cast<uintptr_t>(fresh.get()), kRelease, kAcquire)) {
            fresh.release();
            return seen == kOpen ? Join::kFirst : Join::kLater;
        }
    }
}

bool DiskLeaf::begin() {
    uintptr_t expected = kOpen;
    // [load.begin] CAS. ORDER: relaxed: it publishes nothing, and what the reading thread needs is
    //            in the leaf since before it could be reached.
    //   LOST     another thread was first: the caller joins those that wait for it.
    //   PROGRESS one attempt.
    return waiting_.compare_exchange_strong(expected, kBegun, kRelaxed, kRelaxed);
}

Status DiskLeaf::failure() const {
    // [load.look] acquire: pairs with [load.close]: failure_ is complete.
    return waiting_.load(kAcquire) == kGivenUp ? failure_ : Status::ok();
}

DiskLeaf::Waiting* DiskLeaf::close(Status outcome) {
    failure_ = std::move(outcome);
    const uintptr_t last = failure_.isOk() ? kLoaded : kGivenUp;
    // [load.close] acq_rel: acquire pairs with [load.join], all nodes are complete; release pairs
    // with [load.look].
    const uintptr_t list = waiting_.exchange(last, kAcqRel);
    dcheck(list != kLoaded && list != kGivenUp);
    return listOf(list);
}

void DiskLeaf::wake(Waiting* waiting) {
    while (waiting != nullptr) {
        const std::unique_ptr<Waiting> holder(waiting);
        waiting = holder->next;
        holder->token.complete();
    }
}

}  // namespace freshet::engine
