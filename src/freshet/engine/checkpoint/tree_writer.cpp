// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/checkpoint/tree_writer.h"

#include "freshet/engine/page/leaf_note.h"
#include "freshet/engine/page/page_image.h"

#include <algorithm>
#include <utility>

namespace freshet::engine {
namespace {

/// Limits the memory of a batch when its images are large.
constexpr size_t kImageBytesAtOnce = 256u << 10;

}  // namespace

TreeWriter::~TreeWriter() {
    for (const Scanned& scanned : scanned_) {
        scanned.entry->isUnsettled = false;
    }
    for (PageEntry* entry : unsettled_) {
        entry->isUnsettled = false;
    }
    tree_.eviction().endWaitForImages();
}

Status TreeWriter::writeDuePages() {
    FRESHET_RETURN_IF_ERROR(writeWalked());
    FRESHET_RETURN_IF_ERROR(writeOwed());
    for (PageEntry* entry : unsettled_) {
        entry->settleMark();
        entry->isUnsettled = false;
    }
    unsettled_.clear();
    if (const std::vector<PageId> gone = tree_.removal().takeGone(); !gone.empty()) {
        sink_.notePagesGone(tree_.id(), gone);
    }
    tree_.images().sortNewPages();
    sink_.inSlice([this] { tree_.removal().freeGone(); });
    return Status::ok();
}

void TreeWriter::removeSparse() {
    tree_.images().forEachInMemory(
        [&](PageEntry& entry) { sink_.inSlice([&] { tree_.removal().removeIfSparse(&entry); }); });
}

void TreeWriter::foldRested() {
    if (sink_.isMemoryShort()) {
        return;  // without a walk: checkpoints follow each other without a pause then
    }
    tree_.images().forEachInMemory([&](PageEntry& entry) {
        // A page without an image may be one that was not installed.
        if (entry.imaged && entry.effectiveLsn() == 0 && !sink_.isMemoryShort()) {
            sink_.inSlice([&] { tree_.foldRested(&entry); });
        }
        sink_.giveWay();
    });
}

Status TreeWriter::writeWalked() {
    FRESHET_RETURN_IF_ERROR(moveSome());
    tree_.images().forEachInMemory([&](PageEntry& entry) {
        noteIfDue(&entry);
        sink_.giveWay();
    });
    for (PageEntry* entry : due_) {
        sink_.giveWay();
        FRESHET_RETURN_IF_ERROR(addIfStillDue(entry));
    }
    return writeScanned();
}

void TreeWriter::noteIfDue(PageEntry* entry) {
    // [page.state] acquire: pairs with [page.live]. A page that may not have been installed is left
    // to an image that names it, or to the next checkpoint.
    const bool reachable = entry->imaged || entry->state.load(sync::kAcquire) == PageState::kLive;
    isWhole_ &= reachable;
    const uint64_t mark = entry->effectiveLsn();
    if (!reachable || mark == 0) {
        return;
    }
    if (entry->origin() != nullptr && !mutated(Mutant::kForgetOrigin)) {
        sink_.inSlice([&] { tree_.images().lowerMarkAway(standInOf(entry->origin()), mark); });
    }
    due_.push_back(entry);
}

Status TreeWriter::addIfStillDue(PageEntry* entry) {
    // It may have been met twice.
    // [page.state] acquire: pairs with [page.gone]: it has left the tree.
    const bool isOver = entry->isUnsettled || entry->effectiveLsn() == 0 ||
                        entry->state.load(sync::kAcquire) == PageState::kGone;
    return isOver ? Status::ok() : addPage(entry);
}

Status TreeWriter::moveSome() {
    Status status;
    tree_.images().goOnOverImages([&](PageEntry& entry) {
        if (!status.isOk() || !sink_.takeLookToMove(tree_.id())) {
            return false;
        }
        status = move(&entry);
        sink_.giveWay();
        return true;
    });
    return status;
}

Status TreeWriter::move(PageEntry* entry) {
    // A page that cannot be read stays where it is: only its readers get the error.
    if (entry->effectiveLsn() == 0 && sink_.wantsMoved(entry->place) &&
        sink_.bringBack(tree_, entry).isOk()) {
        markMoved(entry);
    }
    return moveLargeValues(entry);
}

void TreeWriter::markMoved(PageEntry* entry) {
    sink_.noteMove(entry->place);
    // As low as a writer's mark would be, since a writer may come at the same time and rely on it.
    sink_.inSlice([&] { tree_.images().lowerMark(entry, env_.commitLow()); });
}

Status TreeWriter::moveLargeValues(PageEntry* entry) {
    const auto wanted = [this](const block::PagePlace& place) { return sink_.wantsMoved(place); };
    bool isAway = false;
    sink_.inSlice([&] { isAway = LeafEviction::hasLargeValueAway(*entry, wanted); });
    if (isAway && !sink_.bringBack(tree_, entry).isOk()) {
        return Status::ok();
    }
    std::vector<ValueBuffer*> held;
    sink_.inSlice([&] { held = LeafEviction::holdLargeValues(*entry, wanted); });
    Status status;
    for (ValueBuffer* value : held) {
        if (status.isOk() && sink_.wantsMoved(value->place())) {
            status = moveLargeValue(value);
        }
        value->drop();
    }
    return status;
}

Status TreeWriter::moveLargeValue(ValueBuffer* value) {
    sink_.noteMove(value->place());
    NewImage image{
        value->page(), writeLargeValue(value->page(), tree_.id(), value->bytes()), kNoNote};
    FRESHET_RETURN_IF_ERROR(sink_.writeImages({&image, 1}));
    value->setPlace(image.place);
    return Status::ok();
}

Status TreeWriter::writeOwed() {
    while (!owed_.empty() && !mutated(Mutant::kNoUnwrittenFirst)) {
        PageEntry* entry = owed_.front();
        owed_.pop_front();
        if (!entry->imaged) {
            FRESHET_RETURN_IF_ERROR(writeChain(entry));
        }
    }
    return Status::ok();
}

Status TreeWriter::writeChain(PageEntry* first) {
    // All pages of the chain are collected at once. If each were looked for only after the one
    // before was written, a page that keeps splitting would keep this thread writing right halves
    // at the speed of the disk.
    std::vector<PageEntry*> chain;
    sink_.inSlice([&] {
        const uint64_t low = env_.commitLow();
        for (PageEntry* next = first; next != nullptr; next = unwrittenRightOf(*next)) {
            chain.push_back(next);
            // Most have no mark: that of a page to the left, or above, was enough. From its image
            // on each needs one of its own, for the pages it names (INV-engine-13).
            if (!mutated(Mutant::kOwedNotDue)) {
                tree_.images().lowerMark(next, low);
            }
        }
    });
    // From right to left: a page then names one that has its image, unless it has split since.
    for (; !chain.empty(); chain.pop_back()) {
        FRESHET_RETURN_IF_ERROR(addPage(chain.back()));
        FRESHET_RETURN_IF_ERROR(writeScanned());
    }
    return Status::ok();
}

PageEntry* TreeWriter::unwrittenRightOf(const PageEntry& entry) {
    PageEntry* right = nodeOf(entry)->right;
    return right != nullptr && !right->imaged ? right : nullptr;
}

namespace {

/// A scan and the references it holds.
struct HeldScan {
    HeldScan() = default;
    ~HeldScan() {
        for (const LargeValue& value : scan.largeValues) {
            value.buffer->drop();
        }
    }
    HeldScan(const HeldScan&) = delete;
    HeldScan& operator=(const HeldScan&) = delete;
    PageScan scan;
};

}  // namespace

Status TreeWriter::addPage(PageEntry* entry) {
    // A leaf on disk may be due: its writer came too late, or a page that was split from it has
    // just got its first image. A due leaf is not evicted.
    FRESHET_RETURN_IF_ERROR(sink_.bringBack(tree_, entry));
    images_.resize(std::max(images_.size(), scanned_.size() + 1));
    NewImage& image = images_[scanned_.size()];
    HeldScan held;
    PageScan& scan = held.scan;
    sink_.inSlice([&] { scan = scanPage(env_, tree_, entry, std::move(image.bytes)); });
    owed_.insert(owed_.end(), scan.unwritten.begin(), scan.unwritten.end());
    FRESHET_RETURN_IF_ERROR(writeLargeValues(scan));
    image = {entry->id, std::move(scan.image), scan.note};
    entry->isUnsettled = true;
    scanned_.push_back({entry, !scan.unwritten.empty()});
    scannedBytes_ += image.bytes.size();
    const bool isEnough = scanned_.size() == imagesAtOnce_ || scannedBytes_ >= kImageBytesAtOnce;
    return isEnough ? writeScanned() : Status::ok();
}

Status TreeWriter::writeScanned() {
    if (scanned_.empty()) {
        return Status::ok();  // in most trees nothing is due
    }
    if (mutated(Mutant::kSettleBeforeWritten)) {
        for (const Scanned& scanned : scanned_) {
            scanned.entry->settleMark();
        }
    }
    FRESHET_RETURN_IF_ERROR(sink_.writeImages({images_.data(), scanned_.size()}));
    for (size_t i = 0; i < scanned_.size(); ++i) {
        noteWritten(scanned_[i].entry, images_[i].place, scanned_[i].namesUnwritten);
    }
    scanned_.clear();
    sink_.onBatch(std::exchange(scannedBytes_, 0));
    return Status::ok();
}

void TreeWriter::noteWritten(PageEntry* entry, const block::PagePlace& place, bool namesUnwritten) {
    entry->place = place;
    if (!entry->imaged) {
        entry->imaged = true;
        sink_.noteFirstImage(tree_.id(), entry->id);
    }
    if (namesUnwritten) {
        unsettled_.push_back(entry);
    } else {
        entry->settleMark();
        entry->isUnsettled = false;
    }
}

Status TreeWriter::writeLargeValues(const PageScan& scan) {
    for (const LargeValue& value : scan.largeValues) {
        if (value.buffer->page() != 0) {
            continue;
        }
        NewImage image{
            value.page, writeLargeValue(value.page, tree_.id(), value.buffer->bytes()), kNoNote};
        FRESHET_RETURN_IF_ERROR(sink_.writeImages({&image, 1}));
        value.buffer->setPage(value.page, image.place, &env_.freedValues);
    }
    return Status::ok();
}

}  // namespace freshet::engine
