// SPDX-License-Identifier: Apache-2.0
/// The index build's loop: document by document, with a commit every kBatchDocuments or
/// kBatchBytes.
#include "freshet/catalog/index/index_builder.h"

#include "freshet/catalog/documents.h"
#include "freshet/catalog/state/state.h"

namespace freshet::catalog {

namespace {

constexpr size_t kBatchDocuments = 128;
/// Size of entries. Far below what makes a waiting transaction end when memory is short.
constexpr size_t kBatchBytes = 64u << 10;
/// Of one document, which may have a long array.
constexpr size_t kEntriesPerTurn = 512;

}  // namespace

IndexBuilder::IndexBuilder(engine::Store& store,
                           CollectionRef collection,
                           std::vector<std::shared_ptr<Index>> indexes)
    : store_(store),
      collection_(std::move(collection)),
      indexes_(std::move(indexes)),
      txn_(store_),
      cursor_(txn_, collection_->records) {}

Status IndexBuilder::run() {
    while (step_ != Step::kDone) {
        Status status = step();
        if (status.isWouldBlock() && !token_.isSet()) {
            token_ = txn_.token();
        }
        FRESHET_RETURN_IF_ERROR(status);
    }
    return Status::ok();
}

Status IndexBuilder::step() {
    token_ = {};
    switch (step_) {
        case Step::kFirst:
            FRESHET_RETURN_IF_ERROR(cursor_.first());
            step_ = Step::kKeys;
            return Status::ok();
        case Step::kKeys:
            if (!cursor_.valid() || batched_ == kBatchDocuments || batchedBytes_ >= kBatchBytes) {
                step_ = Step::kCommit;
                return Status::ok();
            }
            step_ = Step::kEntries;
            return makeEntries();
        case Step::kEntries:
            FRESHET_RETURN_IF_ERROR(writeEntries());
            ++batched_;
            step_ = Step::kNext;
            return Status::ok();
        case Step::kNext:
            FRESHET_RETURN_IF_ERROR(cursor_.next());
            step_ = Step::kKeys;
            return Status::ok();
        case Step::kCommit:
            return commitBatch();
        case Step::kDone:
            break;
    }
    return Status::ok();
}

Status IndexBuilder::makeEntries() {
    entries_.clear();
    written_ = 0;
    IndexKeys keys;
    for (const auto& index : indexes_) {
        FRESHET_RETURN_IF_ERROR(makeIndexKeys(*index, bson::Document(cursor_.value()), &keys));
        if (keys.multikey) {
            // Relaxed: no plan uses the index before it is published.
            index->state->multikey.store(1, sync::kRelaxed);
            index->state->multikeyRecorded.store(1, sync::kRelaxed);
        }
        for (std::string& key : keys.keys) {
            entries_.push_back({index.get(), std::move(key)});
        }
    }
    return Status::ok();
}

Status IndexBuilder::writeEntries() {
    RecordId id = recordIdOf(cursor_.key());
    for (; written_ < entries_.size(); ++written_) {
        const Entry& entry = entries_[written_];
        Status status = txn_.insert(*entry.index->tree,
                                    entryKey(*entry.index, entry.key, id),
                                    entryValue(*entry.index, id));
        if (status.code() == Code::kExists) {
            bson::OwnedDocument info;
            return duplicateKey(
                *collection_, *entry.index, bson::Document(cursor_.value()), entry.key, &info);
        }
        FRESHET_RETURN_IF_ERROR(status);
        batchedBytes_ += entry.key.size();
        if ((written_ + 1) % kEntriesPerTurn == 0) {
            ++written_;
            token_ = sync::WaitToken::completed();
            return Status::wouldBlock();
        }
    }
    return Status::ok();
}

Status IndexBuilder::commitBatch() {
    FRESHET_RETURN_IF_ERROR(txn_.commit());
    if (!cursor_.valid()) {
        step_ = Step::kDone;
        return Status::ok();
    }
    // The gate is closed, so the cursor is on the same document in the new snapshot.
    txn_.begin();
    batched_ = 0;
    batchedBytes_ = 0;
    step_ = Step::kKeys;
    token_ = sync::WaitToken::completed();
    return Status::wouldBlock();
}

}  // namespace freshet::catalog
