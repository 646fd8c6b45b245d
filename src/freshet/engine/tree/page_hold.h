// SPDX-License-Identifier: Apache-2.0
/// What a thread does so that it may look at a page: nothing, since its slice is enough. Two other
/// ways are compiled in its place for the benchmark, each into a program of its own (LAYERS:
/// `rebuilt`); pageAccess() tells which it was.
///
/// FRESHET_HAZARDS: hazard pointers for pages. Protected are the nodes (with a leaf go its delta,
/// the delta's keys and its image): a descent holds each node by a hazard pointer while it is on
/// it, and the leaf until the slice ends, since values are read in place. The word that is looked
/// at again is the page's own, which never moves and is there until the slice ends, so nothing of
/// the way down needs to be held for it. Whoever reads pages in another way (the checkpoint, the
/// eviction, a rebuild that goes beyond its page) holds all until its slice ends. Not protected in
/// this way are versions: they belong to chains, which pass from node to node and from page to
/// page, so that no word tells whether one has been retired; nor entries, nor whole trees. For
/// these the slice stands, which every transaction needs anyway, for its snapshot. Who retires a
/// node has unlinked it himself, by [entry.install].
///
/// FRESHET_LATCHES: a descent latches each page that it looks at, one at a time: shared, but
/// exclusive the one that it is going to change, which it keeps until it has done so, with the
/// rebuild if there is one. A reader keeps the leaf's until it has found its value; the value's
/// memory, as all memory, is protected by slices as before. Latches are taken upward only, by who
/// has changed a page and posts a separator to its parent, so nobody waits in a circle. The
/// checkpoint and the eviction take none: the tree below the latches is the lock-free one.
#pragma once

#include "freshet/engine/tree/node.h"
#include "freshet/engine/tree/tree_env.h"

#if defined(FRESHET_HAZARDS)
#include "freshet/sync/hazards.h"
#elif defined(FRESHET_LATCHES)
#include <shared_mutex>
#include <utility>
#endif

namespace freshet::engine {

#if defined(FRESHET_LATCHES)
/// What a descent is made for.
enum class PageUse : uint8_t { kRead, kChange };
#else
struct PageUse {};
#endif

#if defined(FRESHET_HAZARDS)

/// Where a descent is: on one page after the other, on the last until end().
class PageHold {
public:
    /// The page's node. `level` is the one that the descent looks for.
    Node* on(const PageEntry& entry, PageUse, uint8_t) {
        return sync::Hazards::here().hold(entry.word);  // [entry.read]
    }
    /// The descent goes on, and the node is no more needed.
    void off(const Node* node) { sync::Hazards::here().drop(node); }
    /// What follows needs the node, but not that others keep off.
    void end() {}
};

/// For a look at a page that ends with this.
class PageGlance {
public:
    explicit PageGlance(const PageEntry& entry)
        : node_(sync::Hazards::here().hold(entry.word)) {}  // [entry.read]
    ~PageGlance() { sync::Hazards::here().drop(node_); }
    PageGlance(const PageGlance&) = delete;
    PageGlance& operator=(const PageGlance&) = delete;
    const Node* operator->() const { return node_; }

private:
    const Node* const node_;
};

/// What the page's word leads to, good until the slice ends.
inline Node* nodeOf(const PageEntry& entry) {
    sync::Hazards::here().holdAll();
    // [entry.read] acquire: pairs with [entry.install]: the node is complete.
    return entry.word.load(sync::kAcquire);
}

/// From here to the slice's end nothing is freed that can be reached.
inline void holdAllPages() {
    sync::Hazards::here().holdAll();
}

inline void retireNode(TreeEnv& env, Node* node) {
    env.retireHeld(node, destroyNodeErased, nodeWeight(node));
}

#else

#if defined(FRESHET_LATCHES)

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

    Node* on(const PageEntry& entry, PageUse use, uint8_t level) {
        // Below the page before, or beside it.
        bool exclusive = use == PageUse::kChange && level_ <= level + 1;
        for (;;) {
            Node* node = latch(entry, exclusive);
            level_ = node->level;
            if (exclusive || use == PageUse::kRead || level_ != level) {
                return node;
            }
            exclusive = true;
        }
    }
    void off(const Node*) { end(); }
    void end() {
        if (std::shared_mutex* latch = std::exchange(latch_, nullptr)) {
            isExclusive_ ? latch->unlock() : latch->unlock_shared();
        }
    }

private:
    Node* latch(const PageEntry& entry, bool exclusive) {
        end();
        exclusive ? entry.latch.lock() : entry.latch.lock_shared();
        latch_ = &entry.latch;
        isExclusive_ = exclusive;
        // [entry.read] acquire: pairs with [entry.install]: the node is complete.
        return entry.word.load(sync::kAcquire);
    }

    static constexpr uint8_t kUnknown = UINT8_MAX - 1;
    std::shared_mutex* latch_ = nullptr;
    bool isExclusive_ = false;
    uint8_t level_ = kUnknown;  // of the page before
};

#else

class PageHold {
public:
    Node* on(const PageEntry& entry, PageUse, uint8_t) {
        // [entry.read] acquire: pairs with [entry.install]: the node is complete.
        return entry.word.load(sync::kAcquire);
    }
    void off(const Node*) {}
    void end() {}
};

#endif

inline Node* nodeOf(const PageEntry& entry) {
    // [entry.read] acquire: pairs with [entry.install]: the node is complete.
    return entry.word.load(sync::kAcquire);
}

class PageGlance {
public:
    explicit PageGlance(const PageEntry& entry) : node_(nodeOf(entry)) {}
    const Node* operator->() const { return node_; }

private:
    const Node* const node_;
};

inline void holdAllPages() {}

inline void retireNode(TreeEnv& env, Node* node) {
    env.retire(node, destroyNodeErased, nodeWeight(node));
}

#endif

}  // namespace freshet::engine
