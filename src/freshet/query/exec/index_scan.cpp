// SPDX-License-Identifier: Apache-2.0
/// The walk along key ranges in either direction.
#include "freshet/query/exec/index_scan.h"

#include "freshet/engine/range_count.h"

namespace freshet::query {

IndexScans::IndexScans(catalog::CollectionRef collection,
                       std::vector<IndexScan> scans,
                       bool fetches)
    : collection_(std::move(collection)),
      scans_(std::move(scans)),
      fetches_(fetches),
      dedupes_(scans_.size() > 1) {
    for (IndexScan& scan : scans_) {
        dedupes_ |= scan.wasMultikey;
    }
    while (!isAtEnd() && scan().ranges.empty()) {
        ++scanAt_;
    }
}

void IndexScans::attach(engine::Txn& txn) {
    txn_ = &txn;
    watchForArrays();
}

/// An index may become multikey while a cursor rests. The documents that made it so changed after
/// the query began; that they may come late is in order, that they come twice is not.
void IndexScans::watchForArrays() {
    for (IndexScan& scan : scans_) {
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

const KeyRange& IndexScans::range() const {
    const auto& ranges = scan().ranges;
    return ranges[scan().backward ? ranges.size() - 1 - rangeAt_ : rangeAt_];
}

bool IndexScans::isInRange() const {
    if (!cursor_->valid()) {
        return false;
    }
    ByteView key = cursor_->key();
    return scan().backward ? key >= range().low : range().high.empty() || key < range().high;
}

/// To the next entry: of the range's start, behind the last one, or simply on.
Status IndexScans::seekNext() {
    if (!cursor_.has_value()) {
        cursor_.emplace(*txn_, scan().index->tree);
    }
    bool backward = scan().backward;
    if (positioned_) {
        return backward ? cursor_->prev() : cursor_->next();
    }
    const std::string& bound = hasLast_ ? lastKey_ : backward ? range().high : range().low;
    if (!backward) {
        FRESHET_RETURN_IF_ERROR(cursor_->seek(bound));
    } else if (bound.empty()) {
        return cursor_->last();
    } else {
        FRESHET_RETURN_IF_ERROR(cursor_->seekBefore(bound));
    }
    bool isBound = cursor_->valid() && cursor_->key() == bound;
    if (isBound && (hasLast_ || backward)) {
        // Given already, or the range's open end. A second move that has to wait repeats the seek.
        return backward ? cursor_->prev() : cursor_->next();
    }
    return Status::ok();
}

void IndexScans::nextRange() {
    positioned_ = false;
    hasLast_ = false;
    if (++rangeAt_ < scan().ranges.size()) {
        return;
    }
    cursor_.reset();
    rangeAt_ = 0;
    do {
        ++scanAt_;
    } while (!isAtEnd() && scan().ranges.empty());
}

Status IndexScans::passOver(uint64_t most, uint64_t* passed) {
    *passed = 0;
    while (!isAtEnd() && !dedupes_ && !scan().backward && toFetch_ == 0) {
        // The successor of a key is itself and a zero byte.
        std::string low = hasLast_ ? lastKey_ + '\0' : range().low;
        engine::RangeCount count(*txn_, scan().index->tree, std::move(low), range().high);
        const Status status = count.run(most - *passed);
        *passed += count.count();
        counts_.given += count.count();
        if (count.isDone()) {
            nextRange();
            continue;
        }
        if (count.count() > 0) {
            scans_[scanAt_].ranges[rangeAt_].low = count.rest();
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
        nextRange();
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
                          ": an entry of a document that is not there");
    }
    FRESHET_RETURN_IF_ERROR(status);
    ++counts_.docsExamined;
    give(id, row);
    row->document = document_.view();
    return Status::ok();
}

}  // namespace freshet::query
