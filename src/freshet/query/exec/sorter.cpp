// SPDX-License-Identifier: Apache-2.0
/// Sorting in memory, with a heap when only the first documents are wanted.
#include "freshet/query/exec/sorter.h"

#include <algorithm>

namespace freshet::query {

Status Sorter::add(const Row& row) {
    Item item{pattern_.keyOf(row.document), sequence_++, row.id, {}};
    bool full = keep_ != 0 && items_.size() >= keep_;
    if (full) {
        if (!(item < items_.front())) {
            return Status::ok();
        }
        std::pop_heap(items_.begin(), items_.end());
        bytes_ -= items_.back().bytes();
        items_.pop_back();
    }
    item.document = std::string(row.document.bytes());
    bytes_ += item.bytes();
    if (bytes_ > kSortBytesMax) {
        return Status(
            Code::kLimit,
            Reason::kExceededMemoryLimit,
            "Sort exceeded memory limit of " + std::to_string(kSortBytesMax) +
                (allowsDiskUse_ ? " bytes, and sorting on disk is not supported by this server"
                                : " bytes, but did not opt in to external sorting."));
    }
    items_.push_back(std::move(item));
    if (keep_ != 0) {
        std::push_heap(items_.begin(), items_.end());
    }
    return Status::ok();
}

void Sorter::finish() {
    std::sort(items_.begin(), items_.end());
}

Row Sorter::next() {
    if (given_ > 0) {
        items_[given_ - 1].document = {};  // the reader is done with it
    }
    if (given_ == items_.size()) {
        items_.clear();
        given_ = 0;
        return {};
    }
    const Item& item = items_[given_++];
    return {item.id, bson::Document(item.document)};
}

}  // namespace freshet::query
