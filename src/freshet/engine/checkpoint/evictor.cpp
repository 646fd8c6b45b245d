// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/checkpoint/evictor.h"

#include "freshet/platform/thread.h"

#include <algorithm>

namespace freshet::engine {
namespace {

/// Pages looked at in one slice.
constexpr int kPagesPerSlice = 16;
/// How long a slice may hold up the freeing of what was evicted.
constexpr int kMillisForFreeing = 30;
/// Bytes evicted between two looks at what is used by then. At least this part of what is to stay:
/// others bring leaves back meanwhile, and each look waits until all threads have gone on.
constexpr uint64_t kPortionBytes = 8u << 20;
constexpr uint64_t kPortionPart = 32;

}  // namespace

bool Evictor::awaitFreeing() {
    // Its freeing tells: what was retired before it has been freed.
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
        const size_t all = tree.residents();
        left_ = left_ != 0 ? left_ : all;
    }
    uint64_t evicted = 0;
    // Leaves that are rebuilt take more until what they were is free.
    const uint64_t most = MemoryBudget::used() + wanted;
    while (left_ != 0 && evicted < wanted && MemoryBudget::used() < most) {
        sync::Slice slice(core_->epochs);
        for (int i = 0; i < kPagesPerSlice && left_ != 0 && evicted < wanted; ++i, --left_) {
            const size_t bytes = tree.evictNext();
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
    // Begin with the tree where the last round stopped, if it is there.
    const auto first = std::find_if(
        trees.begin(), trees.end(), [&](const TreeRef& tree) { return tree->id >= handTree_; });
    std::rotate(trees.begin(), first == trees.end() ? trees.begin() : first, trees.end());
    if (trees[0] != handOwner_.lock()) {
        left_ = 0;
    }
    uint64_t evicted = 0;
    hasAllFreed_ = true;
    // Twice around: the first time may find everything touched. And the tree where it began again,
    // of whose pages it has not seen all.
    // What somebody keeps from being free he keeps whatever else goes, and that takes more memory.
    for (size_t i = 0; i <= 2 * trees.size() && MemoryBudget::used() > bytes && hasAllFreed_;) {
        const TreeRef& tree = trees[i % trees.size()];
        handTree_ = tree->id;
        handOwner_ = tree;
        const uint64_t tooMuch = std::max(MemoryBudget::used() - bytes, bytes / kPortionPart);
        evicted += passTree(tree->pages(), std::min(kPortionBytes, tooMuch));
        // Also if nothing went: leaves may have been rebuilt, which has made memory to be freed.
        hasAllFreed_ = awaitFreeing();
        i += left_ == 0 ? 1 : 0;
    }
    return evicted;
}

}  // namespace freshet::engine
