// SPDX-License-Identifier: Apache-2.0
/// Verification: first every document's entries are looked up, then the entries are counted. As
/// many as expected, and every expected one there: the two are equal. A leaf that cannot be read is
/// told of, with what it had, and passed over.
#include "freshet/catalog/verify.h"

#include "freshet/base/assert.h"
#include "freshet/bson/json.h"
#include "freshet/bson/keyform.h"
#include "freshet/catalog/documents.h"
#include "freshet/catalog/index/index_keys.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

namespace freshet::catalog {

namespace {

constexpr uint32_t kStepsPerSlice = 256;

/// Of the engine's answers: what is there cannot be read.
bool isUnreadable(const Status& status) {
    return status.code() == Code::kCorruption || status.code() == Code::kIo;
}

/// The first record whose key is not below `fence`, which may be the beginning of a key only.
RecordId recordFrom(const std::string& fence) {
    std::string key(fence, 0, std::min(fence.size(), sizeof(RecordId)));
    key.resize(sizeof(RecordId), '\0');
    return recordIdOf(key);
}

std::string recordsOf(const engine::LostRange& lost) {
    const std::string first = lost.low.empty() ? "the first" : std::to_string(recordFrom(lost.low));
    const std::string end =
        lost.high.empty() ? "the last" : "before " + std::to_string(recordFrom(lost.high));
    return "records from " + first + " to " + end;
}

/// As people know it, or its bytes. A fence may be the beginning of a key only: then the first key
/// that begins so, if there is one that can be told.
std::string keyText(const Index& index, const std::string& fence) {
    constexpr size_t kRestBytes = 32;  // more than any value of a fixed length needs
    for (const size_t rest : {size_t{0}, kRestBytes}) {
        const auto values =
            bson::restoreKeyForm(fence + std::string(rest, '\0'), {}, index.descending());
        if (values.isOk()) {
            return bson::toShellText(values->view());
        }
    }
    return "x'" + toHex(fence) + "'";
}

std::string keysOf(const Index& index, const engine::LostRange& lost) {
    return "index " + index.name + ": keys from " +
           (lost.low.empty() ? "the first" : keyText(index, lost.low)) + " to " +
           (lost.high.empty() ? "the last" : "before " + keyText(index, lost.high));
}

}  // namespace

struct Verification::Impl {
    Impl(engine::Store& s, CollectionRef c)
        : store(s), collection(std::move(c)), txn(store), records(txn, collection->records) {
        for (const auto& index : collection->indexes) {
            report.indexes.push_back({.name = index->name});
        }
    }

    enum class Phase { kStart, kDocument, kNextDocument, kIndex, kEntry, kNextEntry, kEnd, kDone };
    /// What to say of a range that cannot be read.
    using Tell = std::function<std::string(const engine::LostRange&)>;

    Status step();
    Status stepEntries();
    /// To the first, or the next one; past leaves that cannot be read.
    Status move(engine::Cursor* cursor, bool isFirst, const Tell& tell);
    Status moveRecords(bool isFirst) { return move(&records, isFirst, recordsOf); }
    Status moveEntries(bool isFirst);
    Status checkDocument();
    Status checkEntry(const Index& index, const std::string& key, RecordId id);
    Status checkFoundEntry();
    bool hasKey(const Index& index, const std::string& document, const std::string& entry) const;
    void problem(std::string text);
    void tellOfOthers();
    const Index& currentIndex() const { return *collection->indexes[indexAt]; }

    engine::Store& store;
    CollectionRef collection;
    engine::Txn txn;
    engine::Cursor records;
    std::optional<engine::Cursor> entries;
    std::optional<std::string> behind;  // a leaf that was passed over: where to go on
    std::set<std::string> told;         // why leaves cannot be read, of which was told
    std::set<std::string> met;          // the same, by looking something up
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

Status Verification::Impl::move(engine::Cursor* cursor, bool isFirst, const Tell& tell) {
    for (;;) {
        const Status status = behind    ? cursor->seek(*behind)
                              : isFirst ? cursor->first()
                                        : cursor->next();
        const engine::LostRange* lost = cursor->lost();
        if (lost == nullptr) {
            if (!status.isWouldBlock()) {
                behind.reset();
            }
            return status;
        }
        problem(tell(*lost) + ", " + std::to_string(lost->entries) +
                " of them, cannot be read: " + std::string(status.text()));
        told.emplace(status.text());
        if (lost->high.empty()) {
            behind.reset();
            return Status::ok();  // and the cursor is nowhere, as at the end
        }
        behind = lost->high;
    }
}

Status Verification::Impl::moveEntries(bool isFirst) {
    return move(&*entries, isFirst, [this](const engine::LostRange& lost) {
        report.indexes[indexAt].isReadable = false;
        return keysOf(currentIndex(), lost);
    });
}

/// Of what only a look-up has met: nothing that cannot be read is passed over in silence.
void Verification::Impl::tellOfOthers() {
    for (const std::string& text : met) {
        if (!told.contains(text)) {
            problem("cannot be read: " + text);
        }
    }
}

Status Verification::Impl::checkEntry(const Index& index, const std::string& key, RecordId id) {
    std::string value;
    Status status = txn.get(*index.tree, entryKey(index, key, id), &value);
    if (status.code() == Code::kNotFound) {
        problem("index " + index.name + ": no entry for record " + std::to_string(id));
        return Status::ok();
    }
    if (isUnreadable(status)) {
        met.emplace(status.text());
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
    if (isUnreadable(status)) {
        met.emplace(status.text());
        ++report.indexes[indexAt].unchecked;
        ++report.indexes[indexAt].entries;
        return Status::ok();
    }
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
            FRESHET_RETURN_IF_ERROR(moveRecords(true));
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
            FRESHET_RETURN_IF_ERROR(moveRecords(false));
            phase = Phase::kDocument;
            return Status::ok();
        case Phase::kEnd:
            tellOfOthers();
            phase = Phase::kDone;
            return Status::ok();
        default:
            return stepEntries();
    }
}

Status Verification::Impl::stepEntries() {
    switch (phase) {
        case Phase::kIndex:
            if (indexAt == collection->indexes.size()) {
                phase = Phase::kEnd;
                return Status::ok();
            }
            if (!entries.has_value()) {
                entries.emplace(txn, currentIndex().tree);
            }
            FRESHET_RETURN_IF_ERROR(moveEntries(true));
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
            FRESHET_RETURN_IF_ERROR(moveEntries(false));
            phase = Phase::kEntry;
            return Status::ok();
        default:
            return Status::ok();
    }
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
