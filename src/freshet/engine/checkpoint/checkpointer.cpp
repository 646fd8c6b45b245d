// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/checkpoint/checkpointer.h"

#include "freshet/engine/cache/page_loads.h"
#include "freshet/engine/checkpoint/done_record.h"
#include "freshet/engine/event_keeper.h"
#include "freshet/engine/page/page_image_format.h"
#include "freshet/engine/recovery/redo.h"

#include <algorithm>
#include <mutex>
#include <unordered_set>

namespace freshet::engine {
namespace {

block::PageKind kindOf(const NewImage& image) {
    const auto header = loadLe<block::PageHeader>(image.bytes.data());
    return static_cast<block::PageKind>(header.flags & kPageKindMask);
}

/// Limits the images that one checkpoint moves so that the file can be cut. Their leaves come into
/// memory, where they take a few times as much, and cannot be evicted before they have their new
/// images. Also limits the leaves that it brings back to merge them.
constexpr uint64_t kBackBytesMax = 64u << 20;
constexpr uint64_t kBackPartOfMemory = 64;

uint64_t backBytesMax(uint64_t memoryLimit) {
    return memoryLimit == 0 ? kBackBytesMax
                            : std::min(kBackBytesMax, memoryLimit / kBackPartOfMemory);
}

/// Pages looked at for moving. While memory is short checkpoints follow each other without a pause,
/// and nothing is evicted during these looks.
constexpr size_t kMoveLooksMax = 64 * 1024;
constexpr size_t kMoveLooksShort = 4 * 1024;

/// Leaves looked at for merging. A look touches memory that has not been used for long, and a read
/// waits for the disk.
constexpr size_t kHandLooksMax = 64 * 1024;
constexpr size_t kHandLeavesMax = 1024;

/// The part of the memory that must have become clean before leaves are evicted during a
/// checkpoint: each eviction looks at a part of all leaves in memory (tree/resident_pages.h).
constexpr uint64_t kReliefPart = 64;

/// Images that are not named yet keep the places of those that they replace, so the file grows by
/// as much. And each has an entry in memory, so their total is also bounded by the ceiling.
constexpr uint64_t kUnnamedPartOfFile = 8;

}  // namespace

Checkpointer::Checkpointer(std::shared_ptr<StoreCore> core,
                           TreeDirectory& trees,
                           block::BlockFile& file,
                           EventKeeper* keeper)
    : core_(std::move(core)), trees_(trees), file_(file), keeper_(keeper) {
    countFileMemory(file_.stats().memoryBytes);
}

Checkpointer::~Checkpointer() {
    countFileMemory(0);
}

void Checkpointer::countFileMemory(uint64_t bytes) {
    MemoryCount::add(bytes);
    MemoryCount::subtract(fileMemoryBytes_);
    fileMemoryBytes_ = bytes;
}

Status Checkpointer::run() {
    tellKeeper();
    return inTurns([this]() -> Status {
        FRESHET_RETURN_IF_ERROR(writeDue());
        return nameChanges();
    });
}

Status Checkpointer::writeBack() {
    return inTurns([this]() -> Status {
        FRESHET_RETURN_IF_ERROR(writeDue());
        if (!mustName()) {
            return Status::ok();
        }
        tellKeeper();
        return nameChanges();
    });
}

void Checkpointer::tellKeeper() {
    if (keeper_ != nullptr) {
        keeper_->checkpointBegins();
    }
}

Status Checkpointer::inTurns(const std::function<Status()>& work) {
    turns_.emplace();
    const Status status = work();
    turns_.reset();
    return status;
}

Status Checkpointer::writeDue() {
    // Without room the checkpoint goes on with what is free, and may free some.
    if (Status room = file_.makeRoom(); !room.isOk() && room.code() != Code::kNoSpace) {
        return room;
    }
    FRESHET_RETURN_IF_ERROR(finish());
    Status written = writeTrees();
    if (written.code() == Code::kNoSpace && !droppedPages_.empty()) {
        FRESHET_RETURN_IF_ERROR(nameDrops());
        FRESHET_RETURN_IF_ERROR(finish());
        written = writeTrees();
    }
    return written;
}

bool Checkpointer::mustName() const {
    // Without room only a commit can make some, and only a successful one shows that there is room
    // again.
    // [space.name] relaxed: only the calling thread writes it.
    if (isSpaceShort() || core_->spaceShort.load(sync::kRelaxed)) {
        return true;
    }
    return unnamedBlocks_ * block::kBlockBytes >=
           std::min(core_->memory.limit(), file_.stats().fileBytes / kUnnamedPartOfFile);
}

Status Checkpointer::nameChanges() {
    if (changes_.empty() && !owesNotes_ && core_->journalTail() == doneTail_ &&
        !file_.wantsCommit()) {
        return Status::ok();
    }
    FRESHET_RETURN_IF_ERROR(file_.flush());
    FRESHET_RETURN_IF_ERROR(nameImages());
    return finish();
}

Status Checkpointer::finish() {
    if (!unfinished_) {
        return Status::ok();
    }
    Status done = declareDone();
    if (done.isOk()) {
        file_.settle();
        countFileMemory(file_.stats().memoryBytes);
        unfinished_ = false;
        doneTail_ = core_->journalTail();
    } else if (done.code() != Code::kNoSpace) {
        return done;
    }
    if (core_->journal == nullptr) {
        return done;
    }
    // Also if there was no room for the record: recycling is what makes room.
    Status recycled = core_->journal->recycle(file_.root().redoLsn);
    return !recycled.isOk() && recycled.code() != Code::kNoSpace ? recycled : done;
}

Status Checkpointer::writeTrees() {
    // Values freed by now are in no node, so every image of a living tree that names one is due.
    // For values of a dropped tree: that tree is then in the list of dropped ones, which is taken
    // later.
    const std::vector<PageId> freed = core_->freedValues.take();
    freedValues_.insert(freedValues_.end(), freed.begin(), freed.end());
    auto [trees, dropped] = trees_.allAndDropped();
    freeDropped(std::move(dropped));
    beginMoves();
    sparseHand_.begin(handShare());
    bool whole = true;
    for (const TreeRef& tree : trees) {
        // [tree.codecRead] relaxed: pairs with [tree.codec]; any recent value will do.
        codec_ = tree->pages().codec().load(sync::kRelaxed);
        TreeWriter writer(*core_, tree->pages(), *this);
        // Merging writes images before it frees any: not while there is too little room.
        if (!isSpaceShort()) {
            writer.removeSparse();
            sparseHand_.pass(tree->pages(), *this);
        }
        FRESHET_RETURN_IF_ERROR(writer.writeDuePages());
        writer.foldRested();
        whole &= writer.isWhole();
    }
    // If a page was passed over, an older image that names a freed value may still be in use.
    for (; whole && !freedValues_.empty(); freedValues_.pop_back()) {
        freeValue(freedValues_.back());
    }
    relieve();  // what follows may take as long as all this
    return Status::ok();
}

void Checkpointer::onBatch(uint64_t bytes) {
    writtenBytes_ += bytes;
    if (writtenBytes_ >= core_->memory.limit() / kReliefPart) {
        relieve();
    }
}

void Checkpointer::relieve() {
    writtenBytes_ = 0;
    relieve_();
}

void Checkpointer::beginMoves() {
    const uint64_t bytes = file_.wantsMoves() ? backBytesMax(core_->memory.limit()) : 0;
    moves_.begin(bytes / block::kBlockBytes,
                 core_->memory.isHigh() ? kMoveLooksShort : kMoveLooksMax);
}

SparseHand::Share Checkpointer::handShare() const {
    // While memory is short checkpoints follow each other without a pause, and other threads wait
    // for what they free.
    if (!looksForSparse_ || isSpaceShort() || core_->memory.isHigh()) {
        return {};
    }
    return {kHandLooksMax, kHandLeavesMax, backBytesMax(core_->memory.limit())};
}

void Checkpointer::freeDropped(std::vector<TreeDirectory::Dropped> dropped) {
    for (auto& [id, tree] : dropped) {
        leaving_.push_back({id, std::move(tree), std::move(pagesOf_[id])});
        pagesOf_.erase(id);
        std::lock_guard<sync::Mutex> guard(sizesMutex_);
        blocksOf_.erase(id);
    }
    // Nothing is evicted from a tree that is not in the directory: once it has no leaves on disk,
    // it does not need the file any more, even if it is still read.
    auto isNeeded = [this](const Leaving& leaving) {
        const TreeRef tree = leaving.tree.lock();
        bool needed = false;
        if (tree != nullptr) {
            inSlice([&] { needed = tree->pages().eviction().hasLeavesOnDisk(); });
        }
        return needed;
    };
    std::erase_if(leaving_, [&](const Leaving& leaving) {
        if (isNeeded(leaving)) {
            return false;
        }
        for (PageId page : leaving.pages) {
            // The root of a new tree with the same number.
            const bool again = page == leaving.id && pagesOf_.contains(leaving.id);
            if (!again) {
                change(page, {}, kNoTree);
                droppedPages_.insert(page);
            }
        }
        return true;
    });
}

Status Checkpointer::nameImages() {
    std::vector<TreeRef> trees;
    block::Root root;
    root.redoLsn = redoLsn(*core_, file_.root().redoLsn, [&] {
        trees = trees_.all();
        std::vector<PageTree*> pages;
        for (const TreeRef& tree : trees) {
            pages.push_back(&tree->pages());
        }
        return pages;
    });
    trees.clear();
    root.redoLsn = withEvents(root.redoLsn);
    // The images hold what was committed; hence all of that must be durable in the journal. So must
    // be what the keeper has stored of events below the position.
    FRESHET_RETURN_IF_ERROR(awaitDurable(core_->journalTail()));
    root.clockTs = core_->table.snapshot();
    root.timeBase = journalNow();
    // [page.number] relaxed: above every number that this thread has met.
    root.nextPageId = core_->nextPageId.load(sync::kRelaxed);
    root.nextTreeId = trees_.nextId();
    std::vector<block::BlockFile::Change> changes;
    changes.reserve(changes_.size());
    for (const auto& [page, pending] : changes_) {
        changes.push_back({page, pending.place});
    }
    if (!isSpaceShort() || owesNotes_) {
        std::copy_if(learned_.begin(),
                     learned_.end(),
                     std::back_inserter(changes),
                     [this](const auto& known) { return !changes_.contains(known.page); });
    }
    FRESHET_RETURN_IF_ERROR(commit(root, changes));
    changes_.clear();
    unnamedBlocks_ = 0;
    // Places change from here on; notes that were not written are learned again by the next
    // opening.
    learned_.clear();
    learned_.shrink_to_fit();
    owesNotes_ = false;
    return Status::ok();
}

uint64_t Checkpointer::withEvents(uint64_t redo) const {
    // A journal without room gets some only by recycling: as of pins, nothing is kept then.
    if (keeper_ == nullptr || core_->journal == nullptr || core_->journal->isOutOfSpace()) {
        return redo;
    }
    // Asked after commitLow() was called: an event that begins to count later has an LSN above. A
    // lower position is as good as a higher one, because replay is idempotent.
    return std::max(file_.root().redoLsn, std::min(redo, keeper_->neededFrom()));
}

Status Checkpointer::nameDrops() {
    // Marks were taken for images that are not named here, so replay must begin where it did.
    block::Root root = file_.root();
    // A reopened store needs the trees until the log durably says that they were dropped.
    FRESHET_RETURN_IF_ERROR(awaitDurable(core_->journalTail()));
    root.timeBase = journalNow();
    // [page.number] relaxed: as in nameImages().
    root.nextPageId = core_->nextPageId.load(sync::kRelaxed);
    root.nextTreeId = trees_.nextId();
    std::vector<block::BlockFile::Change> changes;
    changes.reserve(droppedPages_.size());
    for (const PageId page : droppedPages_) {
        changes.push_back({page, {}});
    }
    return commit(root, changes);
}

Status Checkpointer::commit(const block::Root& root,
                            const std::vector<block::BlockFile::Change>& changes) {
    std::unordered_map<TreeId, int64_t> more;
    auto count = [&](PageId page, int64_t blocks) {
        const auto known = changes_.find(page);
        if (blocks != 0 && known != changes_.end() && known->second.tree != kNoTree) {
            more[known->second.tree] += blocks;
        }
    };
    FRESHET_RETURN_IF_ERROR(
        file_.commit(root, changes, [&](PageId page, const block::Extent& before) {
            // The pages of a dropped tree do not count for a new tree with its number.
            count(page, droppedPages_.contains(page) ? 0 : -int64_t{before.blocks});
        }));
    for (const block::BlockFile::Change& named : changes) {
        count(named.page, named.place.extent.blocks);
    }
    for (const auto& [tree, blocks] : more) {
        countBlocks(tree, blocks);
    }
    countFileMemory(file_.stats().memoryBytes);
    droppedPages_.clear();
    unfinished_ = true;
    ++made_;
    return Status::ok();
}

Status Checkpointer::declareDone() {
    if (core_->journal == nullptr) {
        return Status::ok();
    }
    journal::Journal& journal = *core_->journal;
    journal::AppendOp op(journal::RecordType::kCheckpointDone,
                         0,
                         writeCheckpointDone({file_.root().checkpointNo, file_.root().redoLsn}));
    const auto append = [&] {
        Status status = journal.append(op);
        while (status.isWouldBlock()) {
            sync::blockOn(op.token());
            status = journal.append(op);
        }
        return status;
    };
    Status status = append();
    if (status.code() == Code::kNoSpace && journal.useReserve()) {
        status = append();
    }
    FRESHET_RETURN_IF_ERROR(status);
    return awaitDurable(op.lsn());
}

uint64_t Checkpointer::journalNow() const {
    return core_->journal == nullptr ? 0 : core_->journal->now();
}

Status Checkpointer::awaitDurable(journal::Lsn lsn) {
    if (core_->journal == nullptr) {
        return Status::ok();
    }
    sync::WaitToken token;
    Status status = core_->journal->durable(lsn, &token);
    while (status.isWouldBlock()) {
        sync::blockOn(token);
        status = core_->journal->durable(lsn, &token);
    }
    return status;
}

void Checkpointer::inSlice(const std::function<void()>& work) {
    sync::Slice slice(core_->epochs);
    work();
}

void Checkpointer::giveWay() {
    // While memory is short the other threads wait for this one.
    if (!isMemoryShort()) {
        turns_->giveWay();
    }
}

Status Checkpointer::writeImages(std::span<NewImage> images) {
    std::vector<block::BlockFile::NewImage> wanted;
    wanted.reserve(images.size());
    for (const NewImage& image : images) {
        const bool isLeaf = kindOf(image) == block::PageKind::kLeafBytes;
        wanted.push_back({image.bytes, isLeaf ? codec_ : Codec::kNone, image.note});
    }
    FRESHET_ASSIGN_OR_RETURN(const std::vector<block::PagePlace> places, file_.writePages(wanted));
    countFileMemory(file_.stats().memoryBytes);
    for (size_t i = 0; i < images.size(); ++i) {
        NewImage& image = images[i];
        image.place = places[i];
        const TreeId tree = loadLe<block::PageHeader>(image.bytes.data()).treeId;
        if (kindOf(image) == block::PageKind::kExtern) {
            treeOfValue_[image.page] = tree;
        }
        change(image.page, image.place, tree);
    }
    return Status::ok();
}

void Checkpointer::addLoadedPage(TreeId tree, PageId page, const block::PagePlace& place) {
    noteFirstImage(tree, page);
    countBlocks(tree, place.extent.blocks);
}

void Checkpointer::addLoadedValue(TreeId tree, PageId page, const block::PagePlace& place) {
    treeOfValue_[page] = tree;
    countBlocks(tree, place.extent.blocks);
}

void Checkpointer::freeValue(PageId page) {
    TreeId tree = kNoTree;
    if (auto found = treeOfValue_.find(page); found != treeOfValue_.end()) {
        tree = found->second;
        treeOfValue_.erase(found);
    }
    change(page, {}, tree);
}

void Checkpointer::countBlocks(TreeId tree, int64_t more) {
    std::lock_guard<sync::Mutex> guard(sizesMutex_);
    if (more > 0) {
        blocksOf_[tree] += more;
    } else if (auto found = blocksOf_.find(tree); found != blocksOf_.end()) {
        found->second += more;  // else it was dropped, with all its blocks
    }
}

uint64_t Checkpointer::storedBytes(TreeId tree) const {
    std::lock_guard<sync::Mutex> guard(sizesMutex_);
    const auto found = blocksOf_.find(tree);
    return found == blocksOf_.end()
               ? 0
               : static_cast<uint64_t>(std::max<int64_t>(found->second, 0)) * block::kBlockBytes;
}

void Checkpointer::notePagesGone(TreeId tree, const std::vector<PageId>& pages) {
    for (const PageId page : pages) {
        change(page, {}, tree);
    }
    const std::unordered_set<PageId> gone(pages.begin(), pages.end());
    std::erase_if(pagesOf_[tree], [&](PageId page) { return gone.contains(page); });
}

bool Checkpointer::wantsMoved(const block::PagePlace& place) const {
    return moves_.affords(place.extent.blocks) && file_.wantsMoved(place.extent);
}

void Checkpointer::noteMove(const block::PagePlace& place) {
    moves_.pay(place.extent.blocks);
    file_.noteMove(place.extent.blocks);
}

Status Checkpointer::bringBack(PageTree& tree, PageEntry* entry) {
    return core_->loads->bringBack(tree, entry);
}

void Checkpointer::change(PageId page, const block::PagePlace& place, TreeId tree) {
    Pending& known = changes_[page];
    if (known.place.extent.blocks != 0) {
        file_.discard(known.place);
    }
    unnamedBlocks_ += place.extent.blocks;
    unnamedBlocks_ -= known.place.extent.blocks;
    known = {place, tree};
}

}  // namespace freshet::engine
