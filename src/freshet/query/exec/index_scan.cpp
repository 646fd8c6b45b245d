// SPDX-License-Identifier: Apache-2.0
/// The walk along key ranges in either direction.
#include "freshet/query/exec/index_scan.h"

#include "freshet/engine/range_count.h"

#include <algorithm>

namespace freshet::query {

IndexScans::IndexScans(catalog::CollectionRef collection,
                       std::span<const IndexScan> scans,
                       bool fetches)
    : collection_(std::move(collection)),
      scans_(scans),
      fetches_(fetches),
      dedupes_(scans_.size() > 1) {
    for (const IndexScan& scan : scans_) {
        dedupes_ |= scan.wasMultikey;
    }
    toScan(0);
}

void IndexScans::attach(engine::Txn& txn) {
    txn_ = &txn;
    watchForArrays();
}

/// An index may become multikey while a cursor is detached. The documents that caused it changed
/// after the query began: they may come late, but they must not come twice.
void IndexScans::watchForArrays() {
    for (const IndexScan& scan : scans_) {
        dedupes_ |= scan.index->isMultikey();
    }
}

void IndexScans::detach() {
    cursor_.reset();
    txn_ = nullptr;
    positioned_ = false;
    toFetch_ = 0;
    document_.clear();
}

KeyRange IndexScans::rangeAt(uint64_t place) const {
    return scan().range(scan().backward ? rangeCount_ - 1 - place : place);
}

bool IndexScans::isInRange() const {
    if (!cursor_->valid()) {
        return false;
    }
    ByteView key = cursor_->key();
    return scan().backward ? key >= range_.low : range_.high.empty() || key < range_.high;
}

/// Whether the cursor's key has passed all of `range`, in the scan's direction.
bool IndexScans::isBehind(const KeyRange& range) const {
    ByteView key = cursor_->key();
    return scan().backward ? key < range.low : !range.high.empty() && key >= range.high;
}

/// Moves to the next entry: from the range's start, from the last key, or by one step.
Status IndexScans::seekNext() {
    if (!cursor_.has_value()) {
        cursor_.emplace(*txn_, scan().index->tree);
    }
    bool backward = scan().backward;
    if (positioned_) {
        return backward ? cursor_->prev() : cursor_->next();
    }
    const std::string& bound = hasLast_ ? lastKey_ : backward ? range_.high : range_.low;
    if (!backward) {
        FRESHET_RETURN_IF_ERROR(cursor_->seek(bound));
    } else if (bound.empty()) {
        return cursor_->last();
    } else {
        FRESHET_RETURN_IF_ERROR(cursor_->seekBefore(bound));
    }
    bool isBound = cursor_->valid() && cursor_->key() == bound;
    if (isBound && (hasLast_ || backward)) {
        // Already given, or the range's open end. A second move that has to wait repeats the seek.
        return backward ? cursor_->prev() : cursor_->next();
    }
    return Status::ok();
}

void IndexScans::toRange(uint64_t place) {
    positioned_ = false;
    hasLast_ = false;
    rangeAt_ = place;
    if (rangeAt_ >= rangeCount_) {
        toScan(scanAt_ + 1);
        return;
    }
    range_ = rangeAt(rangeAt_);
}

void IndexScans::toScan(size_t place) {
    cursor_.reset();
    rangeCount_ = 0;
    for (scanAt_ = place; !isAtEnd() && rangeCount_ == 0; ++scanAt_) {
        rangeCount_ = scan().rangeCount();
        if (rangeCount_ > 0) {
            toRange(0);
            return;
        }
    }
}

/// Many ranges may have no entry, when a million values are looked for among a few. The steps
/// double as long as the cursor has passed the range they lead to, then halve.
void IndexScans::passRanges() {
    if (!cursor_->valid()) {
        toScan(scanAt_ + 1);
        return;
    }
    uint64_t left = rangeAt_;  // the cursor has passed this one
    uint64_t step = 1;
    while (left + step < rangeCount_ && isBehind(rangeAt(left + step))) {
        left += step;
        step *= 2;
    }
    uint64_t found = std::min(left + step, rangeCount_);  // the cursor has not passed this one
    while (found - left > 1) {
        const uint64_t middle = left + (found - left) / 2;
        (isBehind(rangeAt(middle)) ? left : found) = middle;
    }
    toRange(found);
}

/// After an empty range the loop ends: advance() gets past many of them at once.
Status IndexScans::passOver(uint64_t most, uint64_t* passed) {
    *passed = 0;
    uint32_t ranges = 0;
    while (!isAtEnd() && !dedupes_ && !scan().backward && toFetch_ == 0 &&
           ranges < kDocumentsPerTurn) {
        // The successor of a key is the key with a zero byte appended.
        std::string low = hasLast_ ? lastKey_ + '\0' : range_.low;
        engine::RangeCount count(*txn_, scan().index->tree, std::move(low), range_.high);
        const Status status = count.run(most - *passed);
        *passed += count.count();
        counts_.given += count.count();
        if (count.isDone()) {
            toNextRange();
            ranges = count.count() == 0 ? kDocumentsPerTurn : ranges + 1;
            continue;
        }
        if (count.count() > 0) {
            range_.low = count.rest();
            positioned_ = hasLast_ = false;
        }
        return status;
    }
    return Status::ok();
}

Status IndexScans::advance(Row* row) {
    if (isAtEnd()) {
        return Status::ok();
    }
    if (toFetch_ != 0) {
        return fetch(row);
    }
    FRESHET_RETURN_IF_ERROR(seekNext());
    positioned_ = true;
    if (!isInRange()) {
        passRanges();
        return Status::ok();
    }
    ++counts_.keysExamined;
    hasLast_ = true;
    lastKey_ = cursor_->key();
    FRESHET_ASSIGN_OR_RETURN(toFetch_,
                             catalog::recordIdOfEntry(*scan().index, lastKey_, cursor_->value()));
    if (dedupes_ && given_.contains(toFetch_)) {
        toFetch_ = 0;
        return Status::ok();
    }
    if (!fetches_) {
        give(std::exchange(toFetch_, 0), row);
        return Status::ok();
    }
    return fetch(row);
}

void IndexScans::give(catalog::RecordId id, Row* row) {
    if (dedupes_) {
        given_.insert(id);
    }
    ++counts_.given;
    row->id = id;
}

Status IndexScans::fetch(Row* row) {
    Status status = document_.read(*txn_, *collection_, toFetch_);
    if (status.isWouldBlock()) {
        return status;
    }
    catalog::RecordId id = std::exchange(toFetch_, 0);
    if (status.code() == Code::kNotFound) {
        return Status(Code::kCorruption,
                      collection_->ns() + ", index " + scan().index->name +
                          ": an entry whose document is missing");
    }
    FRESHET_RETURN_IF_ERROR(status);
    ++counts_.docsExamined;
    give(id, row);
    row->document = document_.view();
    return Status::ok();
}

}  // namespace freshet::query
