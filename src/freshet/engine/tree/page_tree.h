// SPDX-License-Identifier: Apache-2.0
/// One lock-free B+tree in memory (DESIGN 3). Between the root's entry and the version returned or
/// installed no thread waits for another: readers store nothing, writers publish by one CAS, and
/// whoever meets a frozen leaf can finish its rebuild. All calls REQUIRE an open slice.
///
///   INV-engine-4  versions belong to their chain, not to a node. Nobody walks below a committed
///                 version with ts <= minReadTs; that version leaves only with its whole chain,
///                 when the new base holds it. Every link is taken by one exchange, every chain
///                 head by the one installing CAS, so nothing is retired twice.
///   INV-engine-5  `right` of a reachable node leads to a page whose low fence is the node's high.
#pragma once

#include "freshet/engine/leaf_hint.h"
#include "freshet/engine/tree/node.h"
#include "freshet/engine/tree/page_node.h"
#include "freshet/engine/tree/resident_pages.h"
#include "freshet/engine/tree/tree_env.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace freshet::engine {

/// Through whose eyes: a snapshot, and the asker's own uncommitted writes.
struct View {
    uint64_t readTs = 0;
    uint64_t ownStamp = 0;  // 0 = a reader
};

enum class WriteKind : uint8_t { kPut, kInsert, kErase, kReplay };

struct WriteRequest {
    WriteKind kind = WriteKind::kPut;
    VersionOp op = VersionOp::kPut;
    ByteView key;
    ByteView value;
    uint64_t stamp = 0;  // what the version carries: in flight, or (kReplay) committed
    View view;
};

class DiskLeaf;

/// A leaf that a call needs and that is not in memory. Good as long as the slice. What the call did
/// so far was to look.
struct Fault {
    PageEntry* entry = nullptr;
    DiskLeaf* leaf = nullptr;  // null: nothing is missing
};

struct WriteResult {
    enum class Kind : uint8_t { kDone, kNotFound, kExists, kConflict, kBusy, kOnDisk };
    Kind kind = Kind::kDone;
    Version* version =
        nullptr;         // kDone: what was linked; stays the writer's until its stamp is final
    uint64_t other = 0;  // kConflict: the later commit's ts; kBusy: the other writer's stamp
    Fault fault;         // kOnDisk
};

enum class Direction : uint8_t { kForward, kBackward };

enum class Edge : uint8_t { kNone, kFirst, kLast };

/// A place in key order from which a walk goes on.
struct WalkFrom {
    Edge edge = Edge::kFirst;  // kNone: `key` decides
    std::string key;
    bool inclusive = true;  // may `key` itself be the first?
};
/// How far a walk may go in one call.
struct WalkBudget {
    uint32_t entries = 1;
    size_t bytes = 64 * 1024;
    uint32_t skips = 1000;  // keys without a visible value, and pages
};
/// Takes the walk's entries in order; key and value are valid during the call.
using WalkSink = std::function<void(ByteView key, const ValueRef& value)>;
struct WalkResult {
    bool atEnd = false;  // there is nothing beyond
    WalkFrom next;       // else: where to go on
    Fault fault;         // the next leaf's, when it is what stopped the walk
};

/// What one leaf has of a range.
struct LeafCount {
    uint64_t entries = 0;
    std::string next;  // where the range goes on; empty: nowhere
    Fault fault;       // the leaf's, when it must be read first
};

class PageTree {
public:
    /// `id` is also the root's page id.
    PageTree(TreeEnv* env, uint32_t id);
    /// REQUIRES: nobody else can reach the tree. Frees pages, versions and all.
    ~PageTree();
    PageTree(const PageTree&) = delete;
    PageTree& operator=(const PageTree&) = delete;

    /// The visible value; valid while the slice lasts. `fault` may be null when all is in memory;
    /// `hint` says where the key was once, if anybody knows.
    std::optional<ValueRef> get(ByteView key,
                                const View& view,
                                Fault* fault = nullptr,
                                LeafHint hint = {});
    WriteResult write(const WriteRequest& request);
    WalkResult walk(Direction direction,
                    const WalkFrom& from,
                    const WalkBudget& budget,
                    const View& view,
                    const WalkSink& sink);
    /// How many entries the leaf of `low` has from there to below `end`; an empty `end` is none.
    LeafCount countLeaf(ByteView low, ByteView end, const View& view);

    uint32_t id() const { return static_cast<uint32_t>(root_.id); }
    /// How the leaves are stored. Written by: who owns the store, at any time [tree.codec]. Read
    /// by: the checkpoint, for each of its rounds, and whoever splits [tree.codecRead]. Relaxed: no
    /// other data goes with it.
    sync::Atomic<block::Codec> codec{block::Codec::kNone};
    const PageEntry& root() const { return root_; }
    PageEntry& root() { return root_; }
    /// Replaces the leaf that holds `key`, as if it were full.
    void rebuildForTest(ByteView key);

    // For the checkpoint (one thread) and for loading; tree_pages.cpp.
    /// Calls visit(PageEntry&) for each page whose split was installed or may have been, the newest
    /// first, so that a page comes before the one it was split from. A page that is made meanwhile
    /// may be missed.
    template <typename Visit>
    void forEachPage(Visit visit) {
        // [page.walk] acquire: pairs with [page.add].
        for (PageEntry* e = pages_.load(sync::kAcquire); e != nullptr; e = e->older) {
            // [page.state] acquire: pairs with [page.live].
            const PageState state = e->state.load(sync::kAcquire);
            if (state != PageState::kDead && state != PageState::kGone) {
                visit(*e);
            }
        }
    }
    /// The same for all pages that may be due (INV-engine-17): those whose nodes are in memory, and
    /// once more those that lowerMarkAway() was for. Pages without an image come first, the newest
    /// first; those that `visit` calls lowerMarkAway() for come last.
    template <typename Visit>
    void forEachInMemory(const Visit& visit) {
        auto look = [&](PageEntry* entry) {
            // [page.state] acquire: as in forEachPage().
            const PageState state = entry->state.load(sync::kAcquire);
            if (state != PageState::kDead && state != PageState::kGone) {
                visit(*entry);
            }
        };
        // [page.walk] acquire: as in forEachPage().
        for (PageEntry* e = pages_.load(sync::kAcquire); e != decided_; e = e->older) {
            look(e);
        }
        std::for_each(inner_.begin(), inner_.end(), look);
        residents_.forEach([&](PageEntry* entry) {
            if (entry->isDecided) {
                look(entry);
            }
        });
        for (size_t i = 0; i < lowered_.size(); ++i) {
            look(lowered_[i]);
        }
    }
    /// Calls visit(PageEntry&) for one page after the other that had an image when sortNewPages()
    /// was called last, until it returns false: with that page it goes on the next time, and with
    /// the newest when it has come to the end. REQUIRES: called before freeGone() if any page has
    /// gone since the last time, whatever `visit` returns.
    template <typename Visit>
    void goOnOverImages(const Visit& visit) {
        PageEntry* entry = hand_ != nullptr ? hand_ : decided_;
        for (; entry != nullptr; entry = entry->older) {
            // [page.state] acquire: as in forEachPage().
            if (entry->state.load(sync::kAcquire) != PageState::kGone && !visit(*entry)) {
                break;
            }
        }
        // Nothing was visited since it was at the end: pages to come are in front of this one.
        hand_ = entry == decided_ ? nullptr : entry;
    }
    /// Of the pages that came since the last time: frees the entries of splits that were not
    /// installed, and knows from then on where forEachInMemory() finds the others.
    void sortNewPages();
    /// Frees the entries and nodes of pages that takeGone() has told of, as soon as all slices are
    /// over that are open now; a few stay until the next call. REQUIRES: an open slice, and
    /// sortNewPages() since then. tree_remove.cpp.
    void freeGone();
    /// For the checkpoint's thread. REQUIRES: the page's node is in memory.
    void lowerMark(PageEntry* entry, uint64_t lsn);
    /// The same wherever it is. Also while the tree is loaded.
    void lowerMarkAway(PageEntry* entry, uint64_t lsn);
    void takeMark(PageEntry* entry);
    /// Folds the page's leaf if that rids it of changes and nobody has written to it since its mark
    /// was taken. REQUIRES: the page can be reached; the caller's slice is for this call only.
    void foldRested(PageEntry* entry);
    /// Removes the page if it is a sparse leaf; tree_remove.cpp. REQUIRES as foldRested().
    void removeIfSparse(PageEntry* entry);
    /// How much a leaf holds, wherever it is.
    struct LeafSize {
        size_t entries = 0;
        size_t bytes = 0;  // what they count for in a page's size
    };
    /// REQUIRES: an open slice. Of a leaf with changes as if they only added; of one on disk that
    /// has not been in memory since the tree was loaded a guess.
    LeafSize sizeOf(const PageEntry& leaf) const;
    /// Whether the leaf had better leave what it has to that right neighbour.
    bool isSparse(const LeafSize& leaf, const LeafSize& heir) const;
    /// Leaves of one parent that lie side by side, as removeIfSparse() needs them.
    struct Siblings {
        /// The first one is the left neighbour of the others and may be another parent's; null:
        /// there is none.
        std::vector<PageEntry*> leaves;
        size_t spare = 0;  // so many of them can go
        std::string end;   // where the next parent's begin; empty: nowhere
    };
    /// From the leaf of the key on. REQUIRES: an open slice.
    Siblings siblingsAt(ByteView key);
    /// The pages that have gone, when all is written that a checkpoint needs instead.
    std::vector<PageId> takeGone();
    /// The page itself, or which took over what was there if it is gone. REQUIRES: an open slice.
    static PageEntry* standIn(PageEntry* page);
    /// For a LeafHint, by who then goes down from the root to find the leaf in the same slice.
    uint32_t hintGeneration() const {
        // [hint.begin] acquire: pairs with [hint.end]: who finds it raised finds no way to the
        // pages that it was raised for.
        return hintGeneration_.load(sync::kAcquire);
    }
    // For eviction (the checkpoint's thread) and for what brings leaves back; tree_evict.cpp.
    bool hasLeavesOnDisk();
    /// The leaf of the key, or of the page, if it is not in memory. REQUIRES: an open slice.
    Fault faultAt(ByteView key);
    static Fault faultAt(PageEntry* entry);
    using WantsPlace = std::function<bool(const block::PagePlace&)>;
    /// Whether the page's leaf is on disk and has a large value that lies at such a place.
    /// REQUIRES: an open slice.
    static bool hasLargeValueAway(const PageEntry& entry, const WantsPlace& wanted);
    /// References to the large values of a leaf in memory that lie at such places; what is in
    /// changes only is left to later. REQUIRES: an open slice.
    static std::vector<ValueBuffer*> holdLargeValues(const PageEntry& entry,
                                                     const WantsPlace& wanted);
    /// How many leaves evictNext() has to look at, to have looked at all that are there now. Those
    /// that it found to wait for an image are none of them until they have it, or a little later.
    size_t residents();
    /// All of them are again.
    void endWaitForImages();
    /// The leaf that it has not looked at for the longest time leaves memory, if it is what its
    /// image says and nobody has touched it meanwhile; returns its bytes, else 0.
    size_t evictNext();
    /// Those of the next `most` leaves to the right that are not in memory either. REQUIRES: the
    /// slice of `fault`.
    static std::vector<Fault> faultsBehind(const Fault& fault, size_t most);
    /// REQUIRES: the caller is the one who reads the fault's leaf. Takes `leaf` over.
    void bringBack(const Fault& fault, LeafNode* leaf);

    /// REQUIRES of the four: nobody else uses the tree. newLeaf(): or nobody knows of the leaf.
    PageEntry* addLoadedPage(PageId page);
    PageEntry* loadedRoot();
    void setLoadedNode(PageEntry* entry, Node* node);
    /// `page`: as LeafImage's.
    LeafNode* newLeaf(ByteView low,
                      ByteView high,
                      std::span<const ByteView> tails,
                      std::span<const ValueRef> values,
                      block::PageBuffer page = {});

private:
    /// How a descent ended, and a separator that it found missing on its way.
    struct Descent {
        PageEntry* entry = nullptr;
        Node* node = nullptr;
        Node* unposted = nullptr;  // this node's right neighbour was not known to the parent
        [[no_unique_address]] mutable PageHold hold = {};
    };
    /// A key, and whether the place just before it is meant.
    struct Target {
        ByteView key;
        bool before = false;  // the last page that begins below `key`
        bool last = false;    // the last page of all
        [[no_unique_address]] PageUse use = kToRead;
    };
    static Target toChange(const ByteView& key) { return {.key = key, .use = kToChange}; }
    struct Plan;
    struct Judgement;
    class NewValue;
    struct Home;
    /// A chain's newest version that is not aborted, or null.
    struct Newest {
        Version* version;
        Outcome outcome;
    };
    struct WalkState;
    struct PageRange;
    enum class Attempt : uint8_t { kDone, kRefused, kLost, kFrozen };

    // tree_read.cpp
    Newest newestOf(Version* chain);
    Descent descend(const Target& target, uint8_t level = 0);
    /// As descend() to the key's leaf, at once if the hint leads to it. REQUIRES: it names a page.
    Descent descendFrom(const LeafHint& hint, ByteView key);
    bool isGood(const LeafHint& hint) const;
    void repair(const Descent& descent);
    /// REQUIRES: the leaf is on disk.
    static Fault faultOf(const Descent& descent);
    std::optional<ValueRef> visible(const Version* chain,
                                    const View& view,
                                    const std::optional<ValueRef>& base);

    // tree_write.cpp
    Attempt tryWrite(PageEntry* entry,
                     LeafNode* leaf,
                     const WriteRequest& request,
                     const NewValue& value,
                     WriteResult* result);
    Judgement judge(const WriteRequest& request,
                    Version* chain,
                    const std::optional<ValueRef>& base);
    static Home homeOf(const LeafNode& leaf, LeafDelta* delta, const PageKey& key);
    bool push(DeltaKey::Link* chain, uintptr_t seen, Version* fresh, Version* newest);
    bool insertKey(LeafDelta* delta, uint32_t bucket, const LeafDelta::Spot& spot, DeltaKey* key);
    uint32_t trim(Version* newest);
    bool account(LeafNode* leaf, size_t bytes);
    void setDirty(PageEntry* entry);

    // tree_rebuild.cpp
    void freeze(LeafNode* leaf);
    void rebuild(PageEntry* entry, LeafNode* leaf);
    /// Whether a rebuild would leave no changes.
    bool foldsWhole(const LeafNode& leaf);
    /// The leaf leaves memory if it is what its image says; returns its bytes, else 0.
    size_t evict(PageEntry* entry);
    /// evict(), of a leaf that foldsWhole() and whose page had no mark before.
    size_t evictChanged(PageEntry* entry, LeafNode* leaf);
    Plan fold(LeafNode* leaf);
    bool hasFoldable(const LeafNode& leaf);
    void foldKey(ByteView tail,
                 const std::optional<ValueRef>& base,
                 const DeltaKey::Link& chain,
                 uint64_t minReadTs,
                 Plan* plan);
    /// Which record ids get cells in the part of a plan that begins there and ends with the plan.
    CellRange cellsFor(const Plan& plan, size_t begin) const;
    LeafNode* build(const Plan& plan, size_t begin, size_t end, ByteView low, ByteView high);
    void retireFolded(const Plan& plan);
    void retireVersion(Version* version);
    /// Takes over and retires `version`, which the caller unlinked, and all below it.
    uint32_t retireFrom(Version* version);

    // tree_split.cpp
    bool install(PageEntry* entry, Node* old, Node* fresh);
    bool installHalves(PageEntry* entry, Node* old, Node* left, Node* right);
    bool growRoot(Node* old, Node* left, Node* right);
    /// A page that takes over a part of `origin`. It has no mark: the origin's holds until a scan
    /// of the origin as it is then, which leads to the new page (INV-engine-13).
    PageEntry* newPage(Node* node, PageEntry* origin);
    void setLive(PageEntry* entry);
    void setDead(PageEntry* entry);
    /// How many of the plan's entries stay in the left half of a split; 0: there is no need of one.
    size_t cutOf(const Plan& plan) const;
    /// A limit of TreeLimits for leaves, as it holds for this tree's.
    uint32_t ofLeaves(uint32_t limit) const;
    /// Its changes are keys beyond those it had, the youngest the last.
    static bool isAppended(const Plan& plan);
    bool splitLeaf(PageEntry* entry, LeafNode* leaf, const Plan& plan, size_t cut);
    /// Two in place of `old`, which together say what `whole` does.
    bool splitInner(PageEntry* entry, InnerNode* old, const InnerNode& whole);
    void postSeparator(uint8_t level, ByteView separator, PageEntry* right);
    static bool isToBePosted(const PageEntry& page, ByteView low);

    // tree_remove.cpp
    void removeLeaf(PageEntry* entry, LeafNode* leaf);
    bool forgetHeir(const LeafNode& leaf, const PageEntry* entry, PageEntry* heir);
    void postAgain(ByteView low, PageEntry* heir);
    LeafNode* freezeForGood(PageEntry* entry, LeafNode* leaf);
    void handOver(PageEntry* entry, LeafNode* leaving);
    void leave(PageEntry* entry, LeafNode* leaving);
    bool join(const LeafNode& leaving, PageEntry* heir, LeafNode* old);
    static Plan joinedPlan(const LeafNode& leaving, const Plan& own);
    void replaceChild(ByteView low, PageEntry* gone, PageEntry* heir);
    void passOver(ByteView low, const PageEntry* gone);
    std::unordered_set<const PageEntry*> originsOfNewPages();
    void takeOutOfLists(const std::vector<PageEntry*>& pages);

    // tree_walk.cpp
    int64_t changesIn(const LeafNode& leaf, const PageRange& range, const View& view);
    bool walkLeaf(LeafNode* leaf, Direction direction, const WalkFrom& from, WalkState* state);
    bool walkOne(ByteView prefix,
                 ByteView tail,
                 const std::optional<ValueRef>& base,
                 const DeltaKey::Link* chain,
                 WalkState* state);

    TreeEnv& env_;
    /// How often freeGone() has freed entries. Written by: the checkpoint. Read by: whoever makes
    /// a LeafHint, or uses one. Only rises; a hint does not live for 2^32 checkpoints.
    sync::Atomic<uint32_t> hintGeneration_{0};
    PageEntry root_;
    /// The root, always, and every other page while its leaf is in memory, from just before it can
    /// be written to.
    ResidentPages residents_;
    // The checkpoint's own.
    std::vector<PageEntry*> gone_;        // since takeGone()
    std::vector<PageEntry*> goneBefore_;  // by then, and not freed
    /// This page and all older ones are live, or gone, and have images.
    PageEntry* decided_ = nullptr;
    PageEntry* hand_ = nullptr;        // where goOnOverImages() goes on; null: with decided_
    std::vector<PageEntry*> inner_;    // of those the inner ones, without the root
    std::vector<PageEntry*> lowered_;  // by lowerMarkAway(), and not settled
    /// All pages of the tree, through PageEntry::older; the root is the last.
    ///   STEPS    pages are added in front [page.add]; the checkpoint takes dead ones out, and gone
    ///            ones, never the first
    ///   RECLAIM  with the tree, or after that; nobody else walks through it
    sync::Atomic<PageEntry*> pages_{nullptr};
};

}  // namespace freshet::engine
