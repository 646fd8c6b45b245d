// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/checkpoint/tree_writer.h"

#include "freshet/engine/page/page_image.h"

#include <algorithm>

namespace freshet::engine {
namespace {

/// Images that may wait for being written.
constexpr size_t kScansMax = 256;

}  // namespace

TreeWriter::~TreeWriter() {
    dropScans();
}

void TreeWriter::dropScans() {
    for (const PageScan& scan : scans_) {
        for (const LargeValue& value : scan.largeValues) {
            value.buffer->drop();
        }
    }
    scans_.clear();
}

Status TreeWriter::writeDuePages() {
    FRESHET_RETURN_IF_ERROR(writeWalked());
    FRESHET_RETURN_IF_ERROR(writeOwed());
    for (PageEntry* entry : unsettled_) {
        entry->settleMark();
    }
    tree_.sweepDeadPages();
    return Status::ok();
}

Status TreeWriter::writeWalked() {
    Status status;
    tree_.forEachPage([&](PageEntry& entry) {
        // [page.state] acquire: pairs with [page.live]. A page that may not have been installed is
        // left to an image that names it, or to the next checkpoint.
        const bool reachable =
            entry.imaged || entry.state.load(sync::kAcquire) == PageState::kLive;
        const uint64_t mark = entry.effectiveLsn();
        isWhole_ &= reachable;
        if (!status.isOk() || !reachable || mark == 0) {
            return;
        }
        if (!entry.imaged && entry.origin != nullptr && !mutated(Mutant::kForgetOrigin)) {
            tree_.lowerMark(entry.origin, mark);
        }
        scan(&entry);
        status = writeScan(scans_.back());
        dropScans();
    });
    return status;
}

Status TreeWriter::writeOwed() {
    while (!owed_.empty() && !mutated(Mutant::kNoUnwrittenFirst)) {
        // All scans first, at the processor's pace, lest a page that splits all the time keep us
        // following its right halves at the disk's.
        while (!owed_.empty() && scans_.size() < kScansMax) {
            scanOwed();
        }
        for (PageScan& scan : scans_) {
            FRESHET_RETURN_IF_ERROR(writeScan(scan));
        }
        dropScans();
    }
    return Status::ok();
}

void TreeWriter::scanOwed() {
    PageEntry* entry = owed_.front();
    owed_.pop_front();
    const bool scanned = std::any_of(
        scans_.begin(), scans_.end(), [&](const PageScan& scan) { return scan.entry == entry; });
    if (!entry->imaged && !scanned) {
        scan(entry);
    }
}

void TreeWriter::scan(PageEntry* entry) {
    sink_.inSlice([&] { scans_.push_back(scanPage(env_, tree_, entry)); });
    const std::vector<PageEntry*>& named = scans_.back().unwritten;
    owed_.insert(owed_.end(), named.begin(), named.end());
}

Status TreeWriter::writeScan(PageScan& scan) {
    FRESHET_RETURN_IF_ERROR(writeLargeValues(scan));
    FRESHET_RETURN_IF_ERROR(sink_.writeImage(scan.entry->id, &scan.image));
    if (!scan.entry->imaged) {
        scan.entry->imaged = true;
        sink_.noteFirstImage(tree_.id(), scan.entry->id);
    }
    if (scan.unwritten.empty()) {
        scan.entry->settleMark();
    } else {
        unsettled_.push_back(scan.entry);
    }
    return Status::ok();
}

Status TreeWriter::writeLargeValues(const PageScan& scan) {
    for (const LargeValue& value : scan.largeValues) {
        if (value.buffer->page() != 0) {
            continue;
        }
        std::string image = writeLargeValue(value.page, tree_.id(), value.buffer->bytes());
        FRESHET_RETURN_IF_ERROR(sink_.writeImage(value.page, &image));
        value.buffer->setPage(value.page, &env_.freedValues);
    }
    return Status::ok();
}

}  // namespace freshet::engine
