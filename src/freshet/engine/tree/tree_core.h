// SPDX-License-Identifier: Apache-2.0
/// The core of a page tree: going down, reading, writing, rebuilding and splitting leaves, and
/// finishing a merge that another thread has begun. Any thread. Between the root's entry and the
/// version returned or installed no thread waits for another: readers store nothing, writers
/// publish by one CAS, and any thread that meets a frozen leaf can finish its rebuild. All calls
/// REQUIRE an open slice.
///
/// PageTree's other parts (tree_images.h, leaf_eviction.h, leaf_removal.h) belong to the
/// checkpoint's thread, except for bringing leaves back. They change the tree through the functions
/// marked as theirs.
///
///   INV-engine-5  `right` of a reachable node leads to a page whose low fence is the node's high.
#pragma once

#include "freshet/engine/leaf_hint.h"
#include "freshet/engine/tree/leaf_folder.h"
#include "freshet/engine/tree/page_list.h"
#include "freshet/engine/tree/page_node.h"
#include "freshet/engine/tree/tree_calls.h"
#include "freshet/engine/tree/version_chain.h"

#include <cstdint>
#include <optional>

namespace freshet::engine {

/// The page itself or, if it is gone, the one that has its keys. REQUIRES: an open slice.
PageEntry* standInOf(PageEntry* page);

/// How a descent ended, and a separator that it found missing on its way.
struct Descent {
    PageEntry* entry = nullptr;
    Node* node = nullptr;
    Node* unposted = nullptr;  // the parent did not know this node's right neighbour
    [[no_unique_address]] mutable PageHold hold = {};
};

/// A key, and whether the position just before it is meant.
struct Target {
    ByteView key;
    bool before = false;  // the last page that begins below `key`
    bool last = false;    // the last page of all
    [[no_unique_address]] PageUse use = kToRead;
};
inline Target toChange(const ByteView& key) {
    return {.key = key, .use = kToChange};
}

class TreeCore {
public:
    /// As PageList's; the tree is empty.
    TreeCore(TreeEnv* env, uint32_t rootPage, ResidentPages* residents);
    TreeCore(const TreeCore&) = delete;
    TreeCore& operator=(const TreeCore&) = delete;

    TreeEnv& env() const { return env_; }
    PageEntry& root() { return pages_.root(); }
    const PageEntry& root() const { return pages_.root(); }
    PageList& pages() { return pages_; }
    LeafFolder& leaves() { return leaves_; }

    // Reading and writing; as PageTree's.
    std::optional<ValueRef> get(ByteView key, const View& view, Fault* fault, LeafHint hint);
    WriteResult write(const WriteRequest& request);
    Descent descend(const Target& target, uint8_t level = 0);
    /// Posts the separator that the descent has found missing, if any.
    void repair(const Descent& descent);
    /// REQUIRES: the leaf is on disk.
    static Fault faultOf(const Descent& descent);
    /// How often pages have been freed; see LeafHint.
    uint32_t hintGeneration() const {
        // [hint.begin] acquire: pairs with [hint.end]: a thread that finds it raised finds no way
        // to the pages for which it was raised.
        return hintGeneration_.load(sync::kAcquire);
    }

    // For the other parts of PageTree.
    /// Replaces the page's node and retires `old`. False: `old` is not the page's node any more.
    bool install(PageEntry* entry, Node* old, Node* fresh);
    /// Replaces the leaf by one or two without the changes that every snapshot agrees on. Any
    /// number of threads may do that with one leaf at once.
    void rebuild(PageEntry* entry, LeafNode* leaf);
    /// Folds the page's leaf if that rids it of changes and no thread has written to it since its
    /// mark was taken. REQUIRES: the page can be reached; the caller's slice is for this call only.
    void foldRested(PageEntry* entry);
    /// Posts the page that begins at `separator` to its parent, which is on this level, unless that
    /// is done already or must not be done.
    void postSeparator(uint8_t level, ByteView separator, PageEntry* right);
    /// Merges a leaf with LeafNode::isLeaving into its right neighbour. Any number of threads may
    /// do that at once; it is done when this returns.
    void finishMerge(PageEntry* entry, LeafNode* leaving);
    /// Marks the page if it has no mark.
    void setDirty(PageEntry* entry);
    /// From here on no hint leads to the pages that the caller, the checkpoint, is going to free.
    void endHints();

private:
    struct Judgement;
    class NewValue;
    struct Home;
    enum class Attempt : uint8_t { kDone, kRefused, kLost, kFrozen };

    // tree_read.cpp
    /// As descend() to the key's leaf, at once if the hint leads to it. REQUIRES: it names a page.
    Descent descendFrom(const LeafHint& hint, ByteView key);
    bool isGood(const LeafHint& hint) const;

    // tree_write.cpp
    Attempt tryWrite(PageEntry* entry,
                     LeafNode* leaf,
                     const WriteRequest& request,
                     const NewValue& value,
                     WriteResult* result);
    Judgement judge(const WriteRequest& request,
                    Version* chain,
                    const std::optional<ValueRef>& base) const;
    static Home homeOf(const LeafNode& leaf, LeafDelta* delta, const PageKey& key);
    static bool insertKey(LeafDelta* delta,
                          uint32_t bucket,
                          const LeafDelta::Spot& spot,
                          DeltaKey* key);
    static bool account(LeafNode* leaf, size_t bytes);

    // tree_split.cpp
    bool installHalves(PageEntry* entry, Node* old, Node* left, Node* right);
    bool growRoot(Node* old, Node* left, Node* right);
    bool splitLeaf(PageEntry* entry, LeafNode* leaf, const FoldPlan& plan, size_t cut);
    /// Installs two nodes in place of `old`, which together say what `whole` does.
    bool splitInner(PageEntry* entry, InnerNode* old, const InnerNode& whole);
    static bool isToBePosted(const PageEntry& page, ByteView low);

    // tree_merge.cpp
    void markGone(PageEntry* entry, LeafNode* leaving);
    bool mergeInto(PageEntry* target, LeafNode* old, const LeafNode& leaving);

    TreeEnv& env_;
    /// How often the checkpoint has freed entries. Written by: the checkpoint. Read by: threads
    /// that make a LeafHint, or use one. Only rises; a hint does not live for 2^32 checkpoints.
    sync::Atomic<uint32_t> hintGeneration_{0};
    PageList pages_;
    LeafFolder leaves_;
};

}  // namespace freshet::engine
