// SPDX-License-Identifier: Apache-2.0
/// IndexScans: walks the key ranges of one or more index scans, one after the other, and fetches
/// the documents when they are wanted.
#pragma once

#include "freshet/query/exec/held_document.h"
#include "freshet/query/exec/scan.h"

#include "absl/container/flat_hash_set.h"

#include <optional>
#include <string>
#include <vector>

namespace freshet::query {

class IndexScans final : public Scan {
public:
    IndexScans(catalog::CollectionRef collection, std::vector<IndexScan> scans, bool fetches);

    void attach(engine::Txn& txn) override;
    void detach() override;
    Status advance(Row* row) override;
    bool isAtEnd() const override { return scanAt_ == scans_.size(); }
    engine::ValueShare share() const override { return document_.share(); }
    Status passOver(uint64_t most, uint64_t* passed) override;

private:
    const IndexScan& scan() const { return scans_[scanAt_]; }
    const KeyRange& range() const;
    Status seekNext();
    bool isInRange() const;
    void nextRange();
    Status fetch(Row* row);
    void give(catalog::RecordId id, Row* row);
    void watchForArrays();

    catalog::CollectionRef collection_;
    std::vector<IndexScan> scans_;
    bool fetches_;
    engine::Txn* txn_ = nullptr;
    std::optional<engine::Cursor> cursor_;
    size_t scanAt_ = 0;
    size_t rangeAt_ = 0;       // in the scan's direction
    bool positioned_ = false;  // the cursor stands on lastKey_
    bool hasLast_ = false;     // lastKey_ is of the current range
    std::string lastKey_;
    catalog::RecordId toFetch_ = 0;  // the entry's document, when fetching it had to wait
    HeldDocument document_;
    bool dedupes_;  // one document may have several entries in what we walk
    absl::flat_hash_set<catalog::RecordId> given_;
};

}  // namespace freshet::query
