// SPDX-License-Identifier: Apache-2.0
/// HeldDocument: a document that outlives its snapshot and its cursor: a share of the storage's
/// bytes if it is large, else a copy. One thread at a time.
#pragma once

#include "freshet/catalog/documents.h"
#include "freshet/query/borrowed_documents.h"

#include <string>
#include <utility>

namespace freshet::query {

class HeldDocument {
public:
    /// `share`: of `document`, or empty.
    void hold(bson::Document document, engine::ValueShare share) {
        share_ = std::move(share);
        if (share_.isEmpty()) {
            copy_.assign(document.bytes());
        } else {
            copy_.clear();
        }
    }
    /// Holds a record of the collection. Errors as Txn::getShared(). REQUIRES: a slice.
    Status read(engine::Txn& txn, const catalog::Collection& collection, catalog::RecordId id) {
        engine::SharedRead read{kBorrowBytesMin};
        FRESHET_RETURN_IF_ERROR(txn.getShared(*collection.records, catalog::recordKey(id), &read));
        hold(bson::Document(read.bytes), std::move(read.share));
        return Status::ok();
    }
    void clear() {
        copy_.clear();
        share_ = engine::ValueShare();
    }

    bool isEmpty() const { return copy_.empty() && share_.isEmpty(); }
    /// Of the copy; shared bytes belong to the storage.
    size_t bytes() const { return copy_.capacity(); }
    /// REQUIRES: not empty.
    bson::Document view() const {
        return bson::Document(share_.isEmpty() ? ByteView(copy_) : share_.view());
    }
    /// Empty for a copy.
    engine::ValueShare share() const { return share_.another(); }

private:
    std::string copy_;
    engine::ValueShare share_;
};

}  // namespace freshet::query
