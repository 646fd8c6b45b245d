// SPDX-License-Identifier: Apache-2.0
/// Removes sparse leaves: such a leaf is merged into its right neighbour, the merge target
/// (decision 0016). Only the checkpoint's thread removes leaves, one at a time, and the same thread
/// evicts. All others may write, read, split and rebuild meanwhile, and finish what holds them up.
/// The leaf, its left neighbour and the target are in memory, and stay there, since no other thread
/// evicts. Each step is one CAS:
///
///   1  The parent forgets the target, which is then reached over the leaf's `right`, as after any
///      split. PageEntry::isMergeTarget keeps threads from posting it again. Inner pages may split:
///      the separator that leads to the leaf is the leaf's low fence, and that one stays.
///   2  leaf -> leaving leaf: the same keys, frozen for good. It has no changes, as when it is
///      evicted, and none can follow: every snapshot sees all that it has. If a writer was quicker,
///      the target is posted again, and nothing has happened.
///   3  target -> merged: its own keys and chains, and the leaving leaf's keys, from that leaf's
///   low
///      fence on; no other thread changes where a page begins. The target may have been rebuilt or
///      split until then; what is merged is what it holds at its CAS. A thread that gets there with
///      a key of the leaving leaf, walking downward or by a LeafHint, reads what the leaving leaf
///      says, since no thread can change it. That thread cannot write, because writers come from
///      the root.
///   4  leaving leaf -> gone: a leaf without room (low == high), so that every descent moves on to
///      the target, and no hint is good. From here on its keys are written in the target. A
///      snapshot that sees such a write began after the write, so its reader finds the leaf gone as
///      well. A thread that wants to write to the leaving leaf also does steps 3 and 4; 4 only
///      after 3 (tree_merge.cpp).
///   5  The parent's child becomes the target, and the left neighbour is rebuilt with the target as
///      its `right`. A rebuild or split of the left neighbour that was begun before fails, and
///      later ones ask standInOf(). So no node leads to the page any more. Its id is not used
///      again.
///
/// A thread that posts the target's old separator late finds the flag, or another low fence
/// (TreeCore::isToBePosted); one that posts a page that is gone finds that. Both are looked at
/// after the parent was read, whose CAS fails if it has changed since.
///
///   INV-engine-16  when a checkpoint begins to write, no node names a page that is gone, and the
///                  left neighbour, the target and the parent of each page that has gone since the
///                  last checkpoint are due or have images that only the next checkpoint will name.
///                  So one checkpoint names the three without the page, and frees it.
///
/// Before that, the last checkpoint's images count, all four, with its redo position. The leaf's
/// own mark is needed no more, since no redo position is chosen before all that is due is written.
/// If a checkpoint is given up on a full disk, what it has written stays, the rest is due, and both
/// are named by the same later checkpoint. The three must be known to be reachable (isWritable): a
/// page whose split may not have been installed is passed over. If one of them splits before it is
/// written, its image names the right half, which then has an image as well (INV-engine-13), and so
/// have all pages that were split from the leaf: they are to the right of the target, each named by
/// the one before it or by a parent. The leaf was their origin; from then on standInOf() it is.
///
/// The entry is freed, with its last node, after the next images are written (decision 0031):
///
///   INV-engine-19  an entry that is retired is named by no node, by no list of the checkpoint's
///   and
///                  by no page without an image as its origin, and hintGeneration() has moved on
///                  since. So a thread that reaches it is in a slice that was open by then.
///
/// No thread makes such a name anew. Of a node that names the page, or of the page's own node,
/// another thread may still make a copy that names it, but that cannot be installed: the node has
/// been replaced, and the page stays gone. A right half made so, with the page as its origin, is
/// dead, and its origin is never asked for. What outlives slices is keys, hints, and the entries of
/// leaves on disk that are being read: such a leaf is not removed before it has been brought back
/// (cache/page_loads.h).
#pragma once

#include "freshet/engine/tree/tree_core.h"
#include "freshet/engine/tree/tree_images.h"

#include <cstddef>
#include <string>
#include <vector>

namespace freshet::engine {

/// The checkpoint's thread only.
class LeafRemoval {
public:
    LeafRemoval(TreeCore* core, TreeImages* images) : core_(*core), images_(*images) {}
    LeafRemoval(const LeafRemoval&) = delete;
    LeafRemoval& operator=(const LeafRemoval&) = delete;

    /// Removes the page if it is a sparse leaf. REQUIRES: the page can be reached; the caller's
    /// slice is for this call only.
    void removeIfSparse(PageEntry* entry);
    /// How much a leaf holds, wherever it is.
    struct LeafSize {
        size_t entries = 0;
        size_t bytes = 0;  // what they count for in a page's size
    };
    /// Of a leaf with changes as if they only added; of a leaf on disk that has not been in memory
    /// since the tree was loaded a guess. REQUIRES: an open slice.
    LeafSize sizeOf(const PageEntry& leaf) const;
    /// Whether the leaf had better be merged into that right neighbour.
    bool isSparse(const LeafSize& leaf, const LeafSize& right) const;
    /// Leaves of one parent that are side by side, as removeIfSparse() needs them.
    struct Siblings {
        /// The first one is the left neighbour of the others and may be another parent's; null:
        /// there is none.
        std::vector<PageEntry*> leaves;
        size_t spare = 0;  // how many of them can be removed
        std::string end;   // where the next parent's leaves begin; empty: there is no next parent
    };
    /// From the leaf of the key on. REQUIRES: an open slice.
    Siblings siblingsAt(ByteView key);

    /// The pages that are gone. REQUIRES: all is written that a checkpoint needs in their place.
    std::vector<PageId> takeGone();
    /// Frees the entries and nodes of pages that takeGone() has returned, as soon as all slices are
    /// over that are open now; a few stay until the next call. REQUIRES: an open slice, and
    /// TreeImages::sortNewPages() since then.
    void freeGone();

private:
    void removeLeaf(PageEntry* entry, LeafNode* leaf);
    /// Step 1. False: the leaf cannot be removed.
    bool unpostTarget(const LeafNode& leaf, const PageEntry* entry, PageEntry* target);
    void repostTarget(ByteView low, PageEntry* target);
    /// Step 2. Null: a writer was quicker.
    LeafNode* freezeForGood(PageEntry* entry, LeafNode* leaf);
    // Step 5.
    void replaceChild(ByteView low, PageEntry* gone, PageEntry* target);
    void passOver(ByteView low, const PageEntry* gone);

    TreeCore& core_;
    TreeImages& images_;
    std::vector<PageEntry*> gone_;        // since the last takeGone()
    std::vector<PageEntry*> goneBefore_;  // returned by takeGone(), and not freed
};

}  // namespace freshet::engine
