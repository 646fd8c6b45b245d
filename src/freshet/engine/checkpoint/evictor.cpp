// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/checkpoint/evictor.h"

#include "freshet/platform/thread.h"

#include <algorithm>

namespace freshet::engine {
namespace {

/// Pages looked at in one slice.
constexpr int kPagesPerSlice = 16;
/// How long another thread's slice may delay the freeing of what was evicted.
constexpr int kMillisForFreeing = 30;
/// Bytes evicted between two checks of the used memory, but at least this part of the target: other
/// threads bring leaves back meanwhile, and each check waits until all threads have left their
/// slices.
constexpr uint64_t kPortionBytes = 8u << 20;
constexpr uint64_t kPortionPart = 32;

}  // namespace

bool Evictor::awaitFreeing() {
    // A probe: when it is freed, everything retired before it has been freed.
    const auto freed = std::make_shared<bool>(false);
    {
        sync::Slice slice(core_->epochs);
        slice.participant().retire(
            new std::shared_ptr<bool>(freed),
            [](void* object) {
                auto* probe = static_cast<std::shared_ptr<bool>*>(object);
                **probe = true;
                delete probe;
            },
            0);
    }
    for (int i = 0; i < kMillisForFreeing; ++i) {
        for (int epoch = 0; epoch < 4 && !*freed; ++epoch) {
            core_->epochs.tryAdvance();
        }
        if (*freed) {
            return true;
        }
        platform::sleepMillis(1);
    }
    return false;
}

uint64_t Evictor::passTree(PageTree& tree, uint64_t wanted) {
    {
        sync::Slice slice(core_->epochs);
        const size_t all = tree.eviction().residents();
        left_ = left_ != 0 ? left_ : all;
    }
    uint64_t evicted = 0;
    // Rebuilt leaves take more memory until the old ones are freed.
    const uint64_t most = MemoryBudget::used() + wanted;
    while (left_ != 0 && evicted < wanted && MemoryBudget::used() < most) {
        sync::Slice slice(core_->epochs);
        for (int i = 0; i < kPagesPerSlice && left_ != 0 && evicted < wanted; ++i, --left_) {
            const size_t bytes = tree.eviction().evictNext();
            evicted += bytes;
            leaves_ += bytes != 0 ? 1 : 0;
        }
    }
    return evicted;
}

uint64_t Evictor::evictDownTo(uint64_t bytes) {
    std::vector<TreeRef> trees = trees_.all();
    if (trees.empty()) {
        return 0;
    }
    // Begin with the tree where the last round stopped, if it still exists.
    const auto first = std::find_if(
        trees.begin(), trees.end(), [&](const TreeRef& tree) { return tree->id >= handTree_; });
    std::rotate(trees.begin(), first == trees.end() ? trees.begin() : first, trees.end());
    if (trees[0] != handOwner_.lock()) {
        left_ = 0;
    }
    uint64_t evicted = 0;
    hasAllFreed_ = true;
    // Two passes, since in the first one every leaf may have been touched; and one step more for
    // the tree where it began, some of whose pages it has not seen. If a slice keeps evicted memory
    // from being freed it stops: evicting more would not help, and takes more memory.
    for (size_t i = 0; i <= 2 * trees.size() && MemoryBudget::used() > bytes && hasAllFreed_;) {
        const TreeRef& tree = trees[i % trees.size()];
        handTree_ = tree->id;
        handOwner_ = tree;
        const uint64_t tooMuch = std::max(MemoryBudget::used() - bytes, bytes / kPortionPart);
        evicted += passTree(tree->pages(), std::min(kPortionBytes, tooMuch));
        // Even if nothing was evicted: leaves may have been rebuilt, which leaves memory to be
        // freed.
        hasAllFreed_ = awaitFreeing();
        i += left_ == 0 ? 1 : 0;
    }
    return evicted;
}

}  // namespace freshet::engine
