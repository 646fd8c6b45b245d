// SPDX-License-Identifier: Apache-2.0
/// The product's way to get at pages: a thread inside a slice may look at whatever it finds. Costs
/// nothing. See page_hold.h.
#pragma once

#include "freshet/engine/page_access.h"
#include "freshet/sync/atomic.h"

#include <cstddef>
#include <cstdint>

namespace freshet::engine {

struct Node;

inline constexpr PageAccess kPageAccess = PageAccess::kEpochs;

struct PageLatch {};

struct PageUse {};
inline constexpr PageUse kToRead{};
inline constexpr PageUse kToChange{};

class PageHold {
public:
    /// The page's node. `level` is the one that the descent looks for.
    template <typename Entry>
    Node* on(const Entry& entry, PageUse /*use*/, uint8_t /*level*/) {
        // [entry.read] acquire: pairs with [entry.install]: the node is complete.
        return entry.word.load(sync::kAcquire);
    }
    /// The descent goes on and does not need the node any more.
    void off(const Node* /*node*/) {}
    /// The node is still needed, but other threads need not be kept off.
    void end() {}
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

/// `participant`: the caller's, inside a slice.
template <typename Participant>
void retirePage(Participant& participant, void* object, void (*free)(void*), size_t bytes) {
    participant.retire(object, free, bytes);
}

}  // namespace freshet::engine
