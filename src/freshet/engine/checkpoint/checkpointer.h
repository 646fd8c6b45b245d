// SPDX-License-Identifier: Apache-2.0
/// A checkpoint from beginning to end (DESIGN 7.3; docs/decisions/0009): images of all pages that
/// are due, then one commit of the block file that names them together with the position from which
/// replay begins. Nobody is stopped. One call at a time, by a plain thread outside every slice.
#pragma once

#include "freshet/block/block_file.h"
#include "freshet/engine/checkpoint/move_hand.h"
#include "freshet/engine/checkpoint/short_turns.h"
#include "freshet/engine/checkpoint/sparse_hand.h"
#include "freshet/engine/checkpoint/tree_writer.h"
#include "freshet/engine/txn/counted.h"
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
    Checkpointer(std::shared_ptr<StoreCore> core, TreeDirectory& trees, block::BlockFile& file);
    ~Checkpointer();
    Checkpointer(const Checkpointer&) = delete;
    Checkpointer& operator=(const Checkpointer&) = delete;

    /// kNoSpace: nothing has changed, and the next call goes on where this one stopped. Any other
    /// error is final.
    Status run();
    /// Only what lets leaves be evicted: what is due has images afterwards, and the next run()
    /// names them. If they have become many they are named at once, as by run(); errors as there.
    Status writeBack();
    /// The last run() has left too little room for the changes to come.
    bool isSpaceShort() const { return file_.stats().spaceShort; }
    /// From now on leaves may be brought back to become fewer: not while the store is opened.
    void lookForSparse() { looksForSparse_ = true; }
    /// Before the first run(). Each calls `relieve` while it writes images, and once more before it
    /// waits for them to be on the disk: leaves that have theirs may be evicted then.
    void relieveBy(std::function<void()> relieve) { relieve_ = std::move(relieve); }
    /// The last run() has found more of them than it could bring back.
    bool hasMoreSparse() const { return hand_.hasMore(); }
    /// Checkpoints made. A run that finds nothing to do makes none.
    uint64_t made() const { return made_; }
    // After loading, before the first run():
    void addLoadedPage(TreeId tree, PageId page, const block::PagePlace& place);
    void addLoadedValue(TreeId tree, PageId page, const block::PagePlace& place);
    /// A page that the last checkpoint names and no tree needs.
    void addGarbage(PageId page) { change(page, {}, kNoTree); }
    /// A page of the last checkpoint, which has been read, with a note that its place had not.
    void addLoadedNote(PageId page, const block::PagePlace& place) {
        learned_.push_back({page, place});
    }
    /// Some of these notes are corrections: a checkpoint is made for them, if for nothing else.
    void oweNotes() { owesNotes_ = !learned_.empty(); }
    /// What the images of a tree's pages take in the data file, as the last checkpoint names them.
    /// Any thread.
    uint64_t storedBytes(TreeId tree) const;
    /// All that the journal holds is in the last checkpoint.
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
    /// The images of all that is due; drops are named for it if there is no room otherwise.
    Status writeDue();
    Status writeTrees();
    /// Names the images that there are, if anything has changed.
    Status nameChanges();
    /// Instead of leaving that to the next run().
    bool mustName() const;
    SparseHand::Share handShare() const;
    void beginMoves();
    void freeDropped(std::vector<TreeDirectory::Dropped> dropped);
    Status nameImages();
    /// While there is no room for images: a checkpoint of the last one's content, less the dropped
    /// trees. It frees what they had.
    Status nameDrops();
    Status commit(const block::Root& root, const std::vector<block::BlockFile::Change>& changes);
    /// What comes after a commit of the block file; again in the next run() if there was no room.
    Status finish();
    Status declareDone();
    /// `tree`: whose image it is, or was; kNoTree: of one that is not counted any more.
    void change(PageId page, const block::PagePlace& place, TreeId tree);
    void freeValue(PageId page);
    /// The images of a living tree take so much more, or less.
    void countBlocks(TreeId tree, int64_t more);
    /// What the block file holds in memory counts as ours.
    void countFileMemory(uint64_t bytes);
    uint64_t journalNow() const;
    /// Waits until everything in the journal below `lsn` is on the disk.
    Status awaitDurable(journal::Lsn lsn);

    const std::shared_ptr<StoreCore> core_;
    TreeDirectory& trees_;
    block::BlockFile& file_;
    static constexpr TreeId kNoTree = 0;
    struct Pending {
        block::PagePlace place;
        TreeId tree = kNoTree;
    };
    /// What the next commit of the block file will say; survives a checkpoint that was given up.
    CountedMap<PageId, Pending> changes_;
    uint64_t unnamedBlocks_ = 0;  // of the images in changes_
    /// What the next commit may say beside, of images that stay where they are.
    CountedVector<block::BlockFile::Change> learned_;
    bool owesNotes_ = false;
    /// The pages of each tree that have an image. Those of large values are not among them.
    std::unordered_map<TreeId, CountedVector<PageId>> pagesOf_;
    /// Pages of a dropped tree of which leaves are on disk, while somebody may read there.
    struct Leaving {
        TreeId id;
        std::weak_ptr<Tree> tree;
        CountedVector<PageId> pages;
    };
    std::vector<Leaving> leaving_;
    std::set<PageId> droppedPages_;  // of trees dropped since the last commit of the block file
    std::vector<PageId> freedValues_;
    /// Whose they are: a value that is freed does not know it. An entry for each large value.
    CountedHashMap<PageId, TreeId> treeOfValue_;
    Codec codec_ = Codec::kNone;  // of the tree that is being written
    MoveHand moves_;
    SparseHand hand_;
    bool looksForSparse_ = false;
    std::optional<ShortTurns> turns_;  // during run()
    std::function<void()> relieve_;
    uint64_t writtenBytes_ = 0;  // of images, since it was called
    mutable sync::Mutex sizesMutex_;
    std::unordered_map<TreeId, int64_t> blocksOf_;  // guarded by sizesMutex_
    uint64_t fileMemoryBytes_ = 0;                  // as counted
    bool unfinished_ = false;
    uint64_t made_ = 0;
    journal::Lsn doneTail_ = 0;  // the journal's tail when the last checkpoint was done
};

}  // namespace freshet::engine
