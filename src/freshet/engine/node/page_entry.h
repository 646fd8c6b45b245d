// SPDX-License-Identifier: Apache-2.0
/// A page's fixed entry and its marks, which say what the page's image on disk may lack. Marks
/// belong to the page, not to a node, so that a rebuild between a scan and the writing of its image
/// loses nothing.
///
///   INV-engine-11  at any time a commit whose change is on the page, but not in its newest image,
///                  has an LSN >= effectiveLsn(), or was not complete when commitLow() was read
///                  last.
#pragma once

#include "freshet/block/block_file.h"
#include "freshet/engine/memory/memory_count.h"
#include "freshet/engine/page/page_id.h"
#include "freshet/engine/variants/page_hold.h"
#include "freshet/sync/atomic.h"

#include <cstdint>

namespace freshet::engine {

struct Node;

/// Whether the CAS that makes a page reachable has happened, and whether the page was merged into
/// another one later (tree/leaf_removal.cpp).
enum class PageState : uint8_t { kNew, kLive, kDead, kGone };

/// The word is null (never reachable) or a node, which for a leaf on disk is a DiskLeaf.
///   WORD     Node*
///   STEPS    node -> its replacement, by CAS [entry.install]; never back. A leaf that has
///            no changes -> its DiskLeaf -> a new leaf
///   RECLAIM  the entry is freed with its tree. The checkpoint frees a kDead one earlier, and a
///            kGone one with its node, through epochs. A replaced node is freed by its replacer,
///            through epochs
///   ABA      a node's memory is not reused while a slice that saw it is open
struct PageEntry {
    explicit PageEntry(PageId pageId, PageEntry* splitFrom = nullptr)
        : id(pageId), beside_(splitFrom) {
        MemoryCount::add(sizeof(PageEntry));
    }
    ~PageEntry() { MemoryCount::subtract(sizeof(PageEntry)); }
    PageEntry(const PageEntry&) = delete;
    PageEntry& operator=(const PageEntry&) = delete;

    sync::Atomic<Node*> word{nullptr};
    [[no_unique_address]] PageLatch latch;  // empty in the product: variants/page_hold.h
    /// Lowest LSN that may be missing from the newest image, and from the one being made; 0: none.
    /// Written by: writers (0 -> commitLow()), the checkpoint. Read by: both, and splitters.
    sync::Atomic<uint64_t> recLsn{0};
    /// What the image being made will settle; 0: nothing. Written by: the checkpoint.
    sync::Atomic<uint64_t> pendingLsn{0};
    ///   STEPS    kNew -> kLive when its split was installed, or -> kDead when it was not; kLive,
    ///            with an image, -> kGone
    sync::Atomic<PageState> state{PageState::kNew};
    /// Its left neighbour is being merged into it, so that its low fence is going to change: it
    /// must not be posted. Written by: the checkpoint. Read by: threads that post separators.
    /// [merge.begin]
    sync::Atomic<bool> isMergeTarget{false};
    /// It has an image on disk, or one that the next checkpoint will name. Only the checkpoint's
    /// thread uses this.
    bool imaged = false;
    /// Its nodes are always inner ones. False for the root, which may have been a leaf. Set before
    /// the page can be reached.
    bool isInner = false;
    // Only the checkpoint's thread uses these and `place`.
    bool isDecided = false;    // TreeImages::decided_ or an older page
    bool isLowered = false;    // in TreeImages::lowered_
    bool isUnsettled = false;  // in TreeWriter::unsettled_
    /// Where the newest image is on disk, if the page is imaged. While the leaf is on disk this
    /// does not change, and the thread that reads the leaf uses it: that thread and the checkpoint,
    /// which also evicts, take turns by the CAS that evicts the leaf and by the one that brings it
    /// back [entry.install].
    block::PagePlace place;

    const PageId id;
    PageEntry* older = nullptr;  // the tree's list of pages, the newest first
    /// ResidentPages' link. It belongs to the thread that adds the page, then to the eviction until
    /// that takes the page out.
    PageEntry* nextResident = nullptr;

    /// Marks the page when it has no mark. True: it had none.
    bool markIfClean(uint64_t lsn) {
        // [mark.look] relaxed: a mark that exists already is low enough: it was made before this
        // writer's own append. One that has just been taken is found by the look after linking.
        uint64_t seen = recLsn.load(sync::kRelaxed);
        // [mark.set] CAS. ORDER: release pairs with [mark.effective], whose reader then sees what
        //            made the writer mark; relaxed on failure: nothing is done.
        //   LOST     another writer has marked the page.
        //   PROGRESS one attempt.
        return seen == 0 &&
               recLsn.compare_exchange_strong(seen, lsn, sync::kRelease, sync::kRelaxed);
    }
    /// The mark is at most `lsn` afterwards. True: it had none.
    bool lowerMark(uint64_t lsn);
    /// For the checkpoint, before it scans the page: the mark becomes pending. True: there was one.
    bool takeMark();
    /// For the checkpoint: the image that was begun with takeMark() will be named.
    void settleMark();
    /// The lower of both marks; 0: the newest image has everything.
    uint64_t effectiveLsn() const;

    // For the checkpoint's thread only, which never asks for the origin of a page with an image.
    /// The page it was split from, older than this one; null: none, or it has an image.
    PageEntry* origin() const { return imaged ? nullptr : beside_; }
    /// The page in front of it in the tree's list; null: it is not decided, or that page is not.
    PageEntry* newer() const { return isDecided ? beside_ : nullptr; }
    void setDecided(PageEntry* newerPage) {
        isDecided = true;
        beside_ = newerPage;
    }

private:
    /// One word for both, to save memory: there are as many entries as pages.
    PageEntry* beside_;
};

/// The lower of two marks, of which 0 means none.
constexpr uint64_t lowerOf(uint64_t a, uint64_t b) {
    return a == 0 ? b : b == 0 ? a : a < b ? a : b;
}

}  // namespace freshet::engine
