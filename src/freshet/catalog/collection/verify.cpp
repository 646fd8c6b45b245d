// SPDX-License-Identifier: Apache-2.0
/// Verification: first every document's entries are looked up, then the entries are counted. As
/// many as expected, and every expected one there: the two are equal.
#include "freshet/catalog/verify.h"

#include "freshet/base/assert.h"
#include "freshet/bson/json.h"
#include "freshet/catalog/documents.h"
#include "freshet/catalog/index/index_keys.h"

#include <algorithm>
#include <optional>

namespace freshet::catalog {

namespace {

constexpr uint32_t kStepsPerSlice = 256;

}  // namespace

struct Verification::Impl {
    Impl(engine::Store& s, CollectionRef c)
        : store(s), collection(std::move(c)), txn(store), records(txn, collection->records) {
        for (const auto& index : collection->indexes) {
            report.indexes.push_back({index->name, 0, 0});
        }
    }

    enum class Phase { kStart, kDocument, kNextDocument, kIndex, kEntry, kNextEntry, kDone };

    Status step();
    Status checkDocument();
    Status checkEntry(const Index& index, const std::string& key, RecordId id);
    Status checkFoundEntry();
    bool hasKey(const Index& index, const std::string& document, const std::string& entry) const;
    void problem(std::string text);
    const Index& currentIndex() const { return *collection->indexes[indexAt]; }

    engine::Store& store;
    CollectionRef collection;
    engine::Txn txn;
    engine::Cursor records;
    std::optional<engine::Cursor> entries;
    size_t indexAt = 0;
    Phase phase = Phase::kStart;
    VerifyReport report;
    sync::WaitToken token;
};

void Verification::Impl::problem(std::string text) {
    ++report.problemCount;
    if (report.problems.size() < VerifyReport::kProblemsMax) {
        report.problems.push_back(std::move(text));
    }
}

Status Verification::Impl::checkEntry(const Index& index, const std::string& key, RecordId id) {
    std::string value;
    Status status = txn.get(*index.tree, entryKey(index, key, id), &value);
    if (status.code() == Code::kNotFound) {
        problem("index " + index.name + ": no entry for record " + std::to_string(id));
        return Status::ok();
    }
    FRESHET_RETURN_IF_ERROR(status);
    if (value != entryValue(index, id)) {
        problem("index " + index.name + ": the entry of record " + std::to_string(id) +
                " stands for another one");
    }
    return Status::ok();
}

/// Looks up all entries of the document at the cursor. When a look-up has to wait, all is forgotten
/// that was noted of this document, and it is looked at again from its start.
Status Verification::Impl::checkDocument() {
    if (!bson::Document::parse(records.value()).isOk() || records.key().size() != 8) {
        problem("record " + std::to_string(recordIdOf(records.key())) + " is not a document");
        return Status::ok();
    }
    bson::Document document(records.value());
    RecordId id = recordIdOf(records.key());
    VerifyReport before = report;
    for (size_t i = 0; i < collection->indexes.size(); ++i) {
        const Index& index = *collection->indexes[i];
        IndexKeys keys;
        if (Status made = makeIndexKeys(index, document, &keys); !made.isOk()) {
            problem("index " + index.name + ": record " + std::to_string(id) + ": " +
                    std::string(made.text()));
            continue;
        }
        if (keys.multikey && !index.isMultikey()) {
            problem("index " + index.name + " has array entries and is not marked so");
        }
        for (const std::string& key : keys.keys) {
            if (Status status = checkEntry(index, key, id); !status.isOk()) {
                report = std::move(before);
                return status;
            }
        }
        report.indexes[i].expected += keys.keys.size();
    }
    ++report.documents;
    return Status::ok();
}

bool Verification::Impl::hasKey(const Index& index,
                                const std::string& document,
                                const std::string& entry) const {
    IndexKeys keys;
    auto parsed = bson::Document::parse(document);
    if (!parsed.isOk() || !makeIndexKeys(index, *parsed, &keys).isOk()) {
        return false;
    }
    ByteView key(entry);
    key.remove_suffix(index.unique ? 0 : sizeof(RecordId));
    return std::binary_search(keys.keys.begin(), keys.keys.end(), key);
}

/// The entry at the cursor must belong to a document that asks for it.
Status Verification::Impl::checkFoundEntry() {
    const Index& index = currentIndex();
    auto id = recordIdOfEntry(index, entries->key(), entries->value());
    if (!id.isOk()) {
        problem(std::string(id.status().text()));
        return Status::ok();
    }
    std::string document;
    Status status = readDocument(txn, *collection, *id, &document);
    if (!status.isOk() && status.code() != Code::kNotFound) {
        return status;
    }
    if (!status.isOk() || !hasKey(index, document, std::string(entries->key()))) {
        problem("index " + index.name + ": an entry of record " + std::to_string(*id) +
                " that its document does not ask for");
    }
    ++report.indexes[indexAt].entries;
    return Status::ok();
}

Status Verification::Impl::step() {
    switch (phase) {
        case Phase::kStart:
            FRESHET_RETURN_IF_ERROR(records.first());
            phase = Phase::kDocument;
            return Status::ok();
        case Phase::kDocument:
            if (!records.valid()) {
                phase = Phase::kIndex;
                return Status::ok();
            }
            FRESHET_RETURN_IF_ERROR(checkDocument());
            phase = Phase::kNextDocument;
            return Status::ok();
        case Phase::kNextDocument:
            FRESHET_RETURN_IF_ERROR(records.next());
            phase = Phase::kDocument;
            return Status::ok();
        case Phase::kIndex:
            if (indexAt == collection->indexes.size()) {
                phase = Phase::kDone;
                return Status::ok();
            }
            if (!entries.has_value()) {
                entries.emplace(txn, currentIndex().tree);
            }
            FRESHET_RETURN_IF_ERROR(entries->first());
            phase = Phase::kEntry;
            return Status::ok();
        case Phase::kEntry:
            if (!entries->valid()) {
                entries.reset();
                ++indexAt;
                phase = Phase::kIndex;
                return Status::ok();
            }
            FRESHET_RETURN_IF_ERROR(checkFoundEntry());
            phase = Phase::kNextEntry;
            return Status::ok();
        case Phase::kNextEntry:
            FRESHET_RETURN_IF_ERROR(entries->next());
            phase = Phase::kEntry;
            return Status::ok();
        case Phase::kDone:
            break;
    }
    return Status::ok();
}

Verification::Verification(engine::Store& store, CollectionRef collection)
    : impl_(std::make_unique<Impl>(store, std::move(collection))) {}
Verification::~Verification() = default;

Status Verification::run() {
    sync::Slice slice(impl_->store.epochs());
    // The description may be older than the snapshot: then an index may be gone.
    bool dropped = impl_->collection->isDropped();
    for (const auto& index : impl_->collection->indexes) {
        dropped |= index->isDropped();
    }
    if (dropped) {
        return Status(Code::kCancelled,
                      Reason::kQueryPlanKilled,
                      impl_->collection->ns() + " or one of its indexes was dropped");
    }
    for (uint32_t steps = 0; impl_->phase != Impl::Phase::kDone; ++steps) {
        if (steps == kStepsPerSlice) {
            impl_->token = sync::WaitToken::completed();
            return Status::wouldBlock();
        }
        Status status = impl_->step();
        if (status.isWouldBlock()) {
            impl_->token = impl_->txn.token();
        }
        FRESHET_RETURN_IF_ERROR(status);
    }
    return Status::ok();
}

const sync::WaitToken& Verification::token() const {
    return impl_->token;
}

const VerifyReport& Verification::report() const {
    return impl_->report;
}

StatusOr<VerifyReport> verifyCollection(engine::Store& store, CollectionRef collection) {
    Verification verification(store, std::move(collection));
    Status status = verification.run();
    while (status.isWouldBlock()) {
        sync::blockOn(verification.token());
        status = verification.run();
    }
    FRESHET_RETURN_IF_ERROR(status);
    return verification.report();
}

}  // namespace freshet::catalog
