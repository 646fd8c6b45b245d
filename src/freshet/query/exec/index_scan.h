// SPDX-License-Identifier: Apache-2.0
/// IndexScans: walks the key ranges of one or more index scans, one after another, and fetches the
/// documents if they are wanted.
#pragma once

#include "freshet/query/exec/held_document.h"
#include "freshet/query/exec/scan.h"

#include "absl/container/flat_hash_set.h"

#include <optional>
#include <span>
#include <string>

namespace freshet::query {

class IndexScans final : public Scan {
public:
    /// `scans` must outlive it.
    IndexScans(catalog::CollectionRef collection, std::span<const IndexScan> scans, bool fetches);

    void attach(engine::Txn& txn) override;
    void detach() override;
    Status advance(Row* row) override;
    bool isAtEnd() const override { return scanAt_ == scans_.size(); }
    engine::ValueShare share() const override { return document_.share(); }
    Status passOver(uint64_t most, uint64_t* passed) override;

private:
    const IndexScan& scan() const { return scans_[scanAt_]; }
    Status seekNext();
    bool isInRange() const;
    /// The `place`-th range in the scan's direction.
    KeyRange rangeAt(uint64_t place) const;
    /// Goes to that range of the current scan, or to the next scan that has any.
    void toRange(uint64_t place);
    void toScan(size_t place);
    void toNextRange() { toRange(rangeAt_ + 1); }
    /// When the cursor has left the current range: skips to the next range that it has not passed.
    void passRanges();
    bool isBehind(const KeyRange& range) const;
    Status fetch(Row* row);
    void give(catalog::RecordId id, Row* row);
    void watchForArrays();

    catalog::CollectionRef collection_;
    std::span<const IndexScan> scans_;
    bool fetches_;
    engine::Txn* txn_ = nullptr;
    std::optional<engine::Cursor> cursor_;
    size_t scanAt_ = 0;
    uint64_t rangeCount_ = 0;  // of the current scan
    uint64_t rangeAt_ = 0;     // position in the scan's direction
    KeyRange range_;           // the current one, without what was passed over
    bool positioned_ = false;  // the cursor is at lastKey_
    bool hasLast_ = false;     // lastKey_ belongs to the current range
    std::string lastKey_;
    catalog::RecordId toFetch_ = 0;  // the entry's document, if fetching it had to wait
    HeldDocument document_;
    bool dedupes_;  // one document may have several entries in the ranges
    absl::flat_hash_set<catalog::RecordId> given_;
};

}  // namespace freshet::query
