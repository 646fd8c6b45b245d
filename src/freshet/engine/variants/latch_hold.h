// SPDX-License-Identifier: Apache-2.0
/// FRESHET_LATCHES: a latch on each page, for the benchmark. See page_hold.h.
///
/// A descent latches each page that it looks at, one at a time: shared, or exclusive if it is going
/// to change that page. It keeps an exclusive latch until it has made its change and, if one is
/// due, the rebuild. A reader keeps the leaf's latch until it has found its value. The value's
/// memory, like all memory, is protected by slices as before. Latches are taken upward only by a
/// thread that has changed a page and posts a separator to its parent, so there is no circle of
/// waiting threads. The checkpoint and the eviction take no latches: the tree below them is the
/// lock-free one.
#pragma once

#include "freshet/engine/page_access.h"
#include "freshet/sync/atomic.h"

#include <cstddef>
#include <cstdint>
#include <shared_mutex>
#include <utility>

namespace freshet::engine {

struct Node;

inline constexpr PageAccess kPageAccess = PageAccess::kLatches;

struct PageLatch {
    mutable std::shared_mutex mutex;
};

enum class PageUse : uint8_t { kRead, kChange };
inline constexpr PageUse kToRead = PageUse::kRead;
inline constexpr PageUse kToChange = PageUse::kChange;

class PageHold {
public:
    PageHold() = default;
    ~PageHold() { end(); }
    PageHold(PageHold&& other) noexcept
        : latch_(std::exchange(other.latch_, nullptr)),
          isExclusive_(other.isExclusive_),
          level_(other.level_) {}
    PageHold& operator=(PageHold&& other) noexcept {
        end();
        latch_ = std::exchange(other.latch_, nullptr);
        isExclusive_ = other.isExclusive_;
        level_ = other.level_;
        return *this;
    }

    template <typename Entry>
    Node* on(const Entry& entry, PageUse use, uint8_t level) {
        // The page looked at before is this one's parent or left neighbour.
        bool exclusive = use == PageUse::kChange && level_ <= level + 1;
        for (;;) {
            auto* node = latch(entry, exclusive);
            level_ = node->level;
            if (exclusive || use == PageUse::kRead || level_ != level) {
                return node;
            }
            exclusive = true;
        }
    }
    void off(const Node* /*node*/) { end(); }
    void end() {
        if (std::shared_mutex* latch = std::exchange(latch_, nullptr)) {
            isExclusive_ ? latch->unlock() : latch->unlock_shared();
        }
    }

private:
    template <typename Entry>
    auto* latch(const Entry& entry, bool exclusive) {
        end();
        std::shared_mutex& mutex = entry.latch.mutex;
        exclusive ? mutex.lock() : mutex.lock_shared();
        latch_ = &mutex;
        isExclusive_ = exclusive;
        // [entry.read] acquire: pairs with [entry.install]: the node is complete.
        return entry.word.load(sync::kAcquire);
    }

    static constexpr uint8_t kUnknown = UINT8_MAX - 1;
    std::shared_mutex* latch_ = nullptr;
    bool isExclusive_ = false;
    uint8_t level_ = kUnknown;  // of the page looked at before
};

class PageGlance {
public:
    template <typename Entry>
    explicit PageGlance(const Entry& entry)
        // [entry.read] acquire: pairs with [entry.install]: the node is complete.
        : node_(entry.word.load(sync::kAcquire)) {}
    const Node* operator->() const { return node_; }

private:
    const Node* const node_;
};

inline void holdAllPages() {}

template <typename Participant>
void retirePage(Participant& participant, void* object, void (*free)(void*), size_t bytes) {
    participant.retire(object, free, bytes);
}

}  // namespace freshet::engine
