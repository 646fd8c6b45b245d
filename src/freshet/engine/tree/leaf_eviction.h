// SPDX-License-Identifier: Apache-2.0
/// Evicts leaves from memory and brings them back. Both are one CAS on the page's word, between the
/// leaf and a DiskLeaf that keeps its place in the tree.
///
/// A leaf may be evicted when it is exactly what its image says. It is frozen, so no change can
/// follow, and everything in it is committed and seen by every snapshot: its base always, its
/// changes if a fold would leave none of them. All of that is in the image. The writer of each part
/// marked the page for the second time before it committed, so a thread that finds the part
/// committed also finds the mark, unless a scan took the mark, and that scan then found the version
/// (TreeCore::write). Hence the mark is looked at after the leaf. The image may be older than a
/// split of the page; that does no harm, because what is beyond the DiskLeaf's fences is left out.
#pragma once

#include "freshet/engine/tree/tree_core.h"
#include "freshet/engine/tree/tree_images.h"

#include <cstddef>
#include <functional>
#include <vector>

namespace freshet::engine {

class LeafEviction {
public:
    LeafEviction(TreeCore* core, TreeImages* images, ResidentPages* residents)
        : core_(*core), images_(*images), residents_(*residents) {}
    LeafEviction(const LeafEviction&) = delete;
    LeafEviction& operator=(const LeafEviction&) = delete;

    // For the eviction, which is the checkpoint's thread.
    /// How many leaves evictNext() has to look at to have looked at all that are in memory now. It
    /// does not count leaves that evictNext() has found to wait for an image, until they have one
    /// or a little later.
    size_t residents();
    /// Leaves that wait for their images are looked at again.
    void endWaitForImages() { residents_.takeAllBack(); }
    /// Looks at the leaf that it has not looked at for the longest time, and evicts it if it is
    /// what its image says and no thread has touched it meanwhile. Returns the leaf's bytes, or 0
    /// if it stays.
    size_t evictNext();
    bool hasLeavesOnDisk() const;

    // For threads that bring leaves back.
    /// The page's leaf, if it is not in memory. REQUIRES: an open slice.
    static Fault faultAt(PageEntry* entry);
    /// Of the next `most` leaves to the right, those that are not in memory either. REQUIRES: the
    /// slice of `fault`.
    static std::vector<Fault> faultsBehind(const Fault& fault, size_t most);
    /// Takes `leaf` over. REQUIRES: the caller is the thread that reads the fault's leaf.
    void bringBack(const Fault& fault, LeafNode* leaf);

    using WantsPlace = std::function<bool(const block::PagePlace&)>;
    /// Whether the page's leaf is on disk and has a large value at such a place. REQUIRES: an open
    /// slice.
    static bool hasLargeValueAway(const PageEntry& entry, const WantsPlace& wanted);
    /// References to the large values at such places of a leaf in memory; values that are only in
    /// its changes are left for later. REQUIRES: an open slice.
    static std::vector<ValueBuffer*> holdLargeValues(const PageEntry& entry,
                                                     const WantsPlace& wanted);

private:
    /// Evicts the leaf if it is what its image says; returns its bytes, else 0.
    size_t evict(PageEntry* entry);
    /// evict(), of a leaf that folds whole and whose page had no mark before.
    size_t evictChanged(PageEntry* entry, LeafNode* leaf);

    TreeCore& core_;
    TreeImages& images_;
    ResidentPages& residents_;
};

}  // namespace freshet::engine
