// SPDX-License-Identifier: Apache-2.0
/// Pages of large values whose last reference is gone: the checkpoint takes them off the map. Any
/// thread adds, the checkpoint takes all.
#pragma once

#include "freshet/block/block_file.h"
#include "freshet/sync/atomic.h"

#include <memory>
#include <vector>

namespace freshet::engine {

class FreedValues {
public:
    FreedValues() = default;
    ~FreedValues() { take(); }
    FreedValues(const FreedValues&) = delete;
    FreedValues& operator=(const FreedValues&) = delete;

    void add(block::PageId page) {
        auto* node = new Freed{page, nullptr};
        // [freed.look] relaxed: only fed to the CAS.
        node->next = head_.load(sync::kRelaxed);
        // [freed.add] CAS. ORDER: release pairs with [freed.take]; relaxed on failure: tried again.
        //   LOST     another was added, or all were taken.  PROGRESS lock-free.
        while (!head_.compare_exchange_weak(node->next, node, sync::kRelease, sync::kRelaxed)) {
        }
    }
    std::vector<block::PageId> take() {
        std::vector<block::PageId> pages;
        // [freed.take] acquire: pairs with [freed.add].
        for (Freed* node = head_.exchange(nullptr, sync::kAcquire); node != nullptr;) {
            const std::unique_ptr<Freed> holder(node);
            pages.push_back(node->page);
            node = node->next;
        }
        return pages;
    }

private:
    struct Freed {
        block::PageId page;
        Freed* next;
    };
    ///   RECLAIM  nodes belong to the thread that takes the list; ABA: it is only taken as a whole
    sync::Atomic<Freed*> head_{nullptr};
};

}  // namespace freshet::engine
