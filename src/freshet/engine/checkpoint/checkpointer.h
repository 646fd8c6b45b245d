// SPDX-License-Identifier: Apache-2.0
/// A checkpoint from beginning to end (docs/design/engine.md, "Checkpoint"; decision 0009): images
/// of all due pages, then one commit of the block file that names them together with the redo
/// position. No other thread stops. One call at a time, by a plain thread outside every slice.
#pragma once

#include "freshet/block/block_file.h"
#include "freshet/engine/checkpoint/move_hand.h"
#include "freshet/engine/checkpoint/short_turns.h"
#include "freshet/engine/checkpoint/sparse_hand.h"
#include "freshet/engine/checkpoint/tree_writer.h"
#include "freshet/engine/memory/counted.h"
#include "freshet/engine/txn/tree_directory.h"

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace freshet::engine {

class Checkpointer final : private CheckpointSink {
public:
    /// `keeper`: as StoreOptions::eventKeeper.
    Checkpointer(std::shared_ptr<StoreCore> core,
                 TreeDirectory& trees,
                 block::BlockFile& file,
                 EventKeeper* keeper);
    ~Checkpointer();
    Checkpointer(const Checkpointer&) = delete;
    Checkpointer& operator=(const Checkpointer&) = delete;

    /// kNoSpace: nothing has changed, and the next call continues where this one stopped. Any other
    /// error is final.
    Status run();
    /// Writes the images of due pages, so that their leaves can be evicted; the next run() names
    /// these images. If there are many of them they are named at once, as by run(); errors as
    /// there.
    Status writeBack();
    /// The last run() has left too little room for coming changes.
    bool isSpaceShort() const { return file_.stats().spaceShort; }
    /// From now on leaves may be brought back in order to be merged: not while the store is being
    /// opened.
    void lookForSparse() { looksForSparse_ = true; }
    /// Call before the first run(). Runs then call `relieve` while they write images, and once more
    /// before they wait for the images to be on disk: leaves that have theirs may be evicted then.
    void relieveBy(std::function<void()> relieve) { relieve_ = std::move(relieve); }
    /// The last run() found more sparse leaves than it could bring back.
    bool hasMoreSparse() const { return sparseHand_.hasMore(); }
    /// Checkpoints made. A run that finds nothing to do makes none.
    uint64_t made() const { return made_; }
    // After loading, before the first run():
    void addLoadedPage(TreeId tree, PageId page, const block::PagePlace& place);
    void addLoadedValue(TreeId tree, PageId page, const block::PagePlace& place);
    /// A page that the last checkpoint names but no tree needs.
    void addGarbage(PageId page) { change(page, {}, kNoTree); }
    /// A page of the last checkpoint that was read, and a note that the page map lacked.
    void addLoadedNote(PageId page, const block::PagePlace& place) {
        learned_.push_back({page, place});
    }
    /// Some of these notes are corrections: a checkpoint is made for them, even if for nothing
    /// else.
    void oweNotes() { owesNotes_ = !learned_.empty(); }
    /// The size of a tree's images in the data file, as the last checkpoint names them. Any thread.
    uint64_t storedBytes(TreeId tree) const;
    /// The last checkpoint holds everything that is in the journal.
    void setCurrent() { doneTail_ = core_->journalTail(); }

private:
    void inSlice(const std::function<void()>& work) override;
    void giveWay() override;
    bool isMemoryShort() const override { return core_->memory.isHigh(); }
    Status writeImages(std::span<NewImage> images) override;
    void onBatch(uint64_t bytes) override;
    void relieve();
    bool takeLookToMove(TreeId tree) override { return moves_.takeLook(tree); }
    bool wantsMoved(const block::PagePlace& place) const override;
    void noteMove(const block::PagePlace& place) override;
    Status bringBack(PageTree& tree, PageEntry* entry) override;
    void notePagesGone(TreeId tree, const std::vector<PageId>& pages) override;
    void noteFirstImage(TreeId tree, PageId page) override { pagesOf_[tree].push_back(page); }

    Status inTurns(const std::function<Status()>& work);
    /// Writes the images of all due pages; names drops first if there is no room otherwise.
    Status writeDue();
    Status writeTrees();
    /// Names the existing images, if anything has changed.
    Status nameChanges();
    /// Whether images must be named now, instead of by the next run().
    bool mustName() const;
    SparseHand::Share handShare() const;
    void beginMoves();
    void freeDropped(std::vector<TreeDirectory::Dropped> dropped);
    Status nameImages();
    /// Where replay begins: at `redo`, or before it, where events are still needed.
    uint64_t withEvents(uint64_t redo) const;
    void tellKeeper();
    /// While there is no room for images: a checkpoint with the last one's content minus the
    /// dropped trees. It frees their pages.
    Status nameDrops();
    Status commit(const block::Root& root, const std::vector<block::BlockFile::Change>& changes);
    /// What follows a commit of the block file; repeated by the next run() if there was no room.
    Status finish();
    Status declareDone();
    /// `tree`: the tree whose image it is, or was; kNoTree: one that is no longer counted.
    void change(PageId page, const block::PagePlace& place, TreeId tree);
    void freeValue(PageId page);
    /// The images of a living tree take that many blocks more (or fewer).
    void countBlocks(TreeId tree, int64_t more);
    /// Counts the memory of the block file under the ceiling.
    void countFileMemory(uint64_t bytes);
    uint64_t journalNow() const;
    /// Waits until the journal reports `lsn` as durable.
    Status awaitDurable(journal::Lsn lsn);

    const std::shared_ptr<StoreCore> core_;
    TreeDirectory& trees_;
    block::BlockFile& file_;
    EventKeeper* const keeper_;  // null: none
    static constexpr TreeId kNoTree = 0;
    struct Pending {
        block::PagePlace place;
        TreeId tree = kNoTree;
    };
    /// What the next commit of the block file will say; survives a checkpoint that was given up.
    CountedMap<PageId, Pending> changes_;
    uint64_t unnamedBlocks_ = 0;  // of the images in changes_
    /// Notes that the next commit may add, for images that stay where they are.
    CountedVector<block::BlockFile::Change> learned_;
    bool owesNotes_ = false;
    /// The pages of each tree that have an image, without those of large values.
    std::unordered_map<TreeId, CountedVector<PageId>> pagesOf_;
    /// Pages of a dropped tree that has leaves on disk and may still be read.
    struct Leaving {
        TreeId id;
        std::weak_ptr<Tree> tree;
        CountedVector<PageId> pages;
    };
    std::vector<Leaving> leaving_;
    std::set<PageId> droppedPages_;  // of trees dropped since the last commit of the block file
    std::vector<PageId> freedValues_;
    /// The tree of each large value: a value that is freed does not know its tree.
    CountedHashMap<PageId, TreeId> treeOfValue_;
    Codec codec_ = Codec::kNone;  // of the tree that is being written
    MoveHand moves_;
    SparseHand sparseHand_;
    bool looksForSparse_ = false;
    std::optional<ShortTurns> turns_;  // during run()
    std::function<void()> relieve_;
    uint64_t writtenBytes_ = 0;  // of images, since relieve_ was called
    mutable sync::Mutex sizesMutex_;
    std::unordered_map<TreeId, int64_t> blocksOf_;  // guarded by sizesMutex_
    uint64_t fileMemoryBytes_ = 0;                  // as counted
    bool unfinished_ = false;
    uint64_t made_ = 0;
    journal::Lsn doneTail_ = 0;  // the journal's tail when the last checkpoint was done
};

}  // namespace freshet::engine
