// SPDX-License-Identifier: Apache-2.0
/// FRESHET_HAZARDS: hazard pointers for pages, for the benchmark. See page_hold.h.
///
/// What they protect are nodes (and with a leaf its delta, the delta's keys and its image): a
/// descent holds each node by a hazard pointer while it is on it, and the leaf until the slice
/// ends, because values are read in place. The word that is read a second time is the page's own.
/// It never moves and exists until the slice ends, so nothing else on the way down needs a hazard
/// pointer. Code that reads pages in another way (the checkpoint, the eviction, a rebuild that goes
/// beyond its page) holds all pages until its slice ends.
///
/// They do not protect versions: these belong to chains, which pass from node to node and from page
/// to page, so no word tells whether a version has been retired. Nor do they protect entries or
/// whole trees. For all of these the slice stands, which every transaction needs anyway, for its
/// snapshot. A thread that retires a node has unlinked it itself, by [entry.install].
#pragma once

#include "freshet/engine/page_access.h"
#include "freshet/sync/hazards.h"

#include <cstddef>
#include <cstdint>

namespace freshet::engine {

struct Node;

inline constexpr PageAccess kPageAccess = PageAccess::kHazards;

struct PageLatch {};

struct PageUse {};
inline constexpr PageUse kToRead{};
inline constexpr PageUse kToChange{};

class PageHold {
public:
    template <typename Entry>
    Node* on(const Entry& entry, PageUse /*use*/, uint8_t /*level*/) {
        return sync::Hazards::here().hold(entry.word);  // [entry.read]
    }
    void off(const Node* node) { sync::Hazards::here().drop(node); }
    void end() {}
};

class PageGlance {
public:
    template <typename Entry>
    explicit PageGlance(const Entry& entry)
        : node_(sync::Hazards::here().hold(entry.word)) {}  // [entry.read]
    ~PageGlance() { sync::Hazards::here().drop(node_); }
    PageGlance(const PageGlance&) = delete;
    PageGlance& operator=(const PageGlance&) = delete;
    const Node* operator->() const { return node_; }

private:
    const Node* const node_;
};

inline void holdAllPages() {
    sync::Hazards::here().holdAll();
}

template <typename Participant>
void retirePage(Participant& participant, void* object, void (*free)(void*), size_t bytes) {
    participant.retireHeld(object, free, bytes);
}

}  // namespace freshet::engine
