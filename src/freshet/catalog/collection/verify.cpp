// SPDX-License-Identifier: Apache-2.0
/// Verification: first every document's entries are looked up, then the entries are counted. If
/// every expected entry exists and there are as many entries as expected, the two are equal. Only
/// otherwise is each entry checked against its document. A leaf that cannot be read is reported,
/// with what it held, and skipped.
#include "freshet/catalog/verify.h"

#include "freshet/base/assert.h"
#include "freshet/bson/json.h"
#include "freshet/bson/keyform.h"
#include "freshet/catalog/documents.h"
#include "freshet/catalog/index/index_keys.h"

#include "absl/container/flat_hash_map.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

namespace freshet::catalog {

namespace {

constexpr uint64_t kStepsPerSlice = 512;
/// Making this many keys counts as a step.
constexpr uint64_t kKeysPerStep = 16;
/// For keys of documents that are kept while surplus entries are looked for.
constexpr size_t kWantedBytesMax = 32u << 20;

/// Whether an engine status means that data exists but cannot be read.
bool isUnreadable(const Status& status) {
    return status.code() == Code::kCorruption || status.code() == Code::kIo;
}

/// The first record whose key is not below `fence`, which may be only a prefix of a key.
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

/// The values of a key, or its bytes in hexadecimal. A fence may be only a prefix of a key: then
/// the lowest key with that prefix, if its values can be restored.
std::string keyText(const Index& index, const std::string& fence) {
    constexpr size_t kRestBytes = 32;  // more than any value of fixed length needs
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

    enum class Phase {
        kStart,
        kDocument,
        kKeys,
        kKey,
        kNextDocument,
        kIndex,
        kCount,
        kCountNext,
        kEntry,
        kNextEntry,
        kEnd,
        kDone
    };
    /// The text that reports a range that cannot be read.
    using DescribeLost = std::function<std::string(const engine::LostRange&)>;

    Status step();
    Status stepDocuments();
    Status stepCount();
    Status stepEntries();
    /// Moves to the first or next entry, past leaves that cannot be read.
    Status move(engine::Cursor* cursor, bool isFirst, const DescribeLost& describe);
    Status moveRecords(bool isFirst) { return move(&records, isFirst, recordsOf); }
    Status moveEntries(bool isFirst);
    void startDocument();
    void makeKeys();
    Status startIndex();
    Status toCount(const Status& moved);
    void nextIndex();
    void lookAtEach();
    Status checkEntry(const Index& index, const std::string& key, RecordId id);
    Status checkFoundEntry();
    bool isWanted(RecordId id) const;
    Status readWanted(RecordId id);
    const Index& indexOfKeys() const { return *collection->indexes[keysOfIndex]; }
    void problem(std::string text);
    void reportLookupErrors();
    const Index& currentIndex() const { return *collection->indexes[indexAt]; }

    engine::Store& store;
    CollectionRef collection;
    engine::Txn txn;
    engine::Cursor records;
    std::optional<engine::Cursor> entries;
    std::optional<std::string> behind;     // end of a leaf that was skipped: continue here
    std::set<std::string> reportedErrors;  // of unreadable leaves
    std::set<std::string> lookupErrors;    // errors that look-ups have met
    size_t keysOfIndex = 0;                // whose entries of the document are being looked up
    IndexKeys keys;
    size_t keyAt = 0;
    size_t indexAt = 0;
    bool isSuspect = false;  // this index's entries are not as many as expected
    absl::flat_hash_map<RecordId, std::vector<std::string>> wanted;  // keys in this index, of a few
    size_t wantedBytes = 0;
    uint64_t weight = 0;  // of the last step, in addition to a step's base cost
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

Status Verification::Impl::move(engine::Cursor* cursor,
                                bool isFirst,
                                const DescribeLost& describe) {
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
        problem(describe(*lost) + ", " + std::to_string(lost->entries) +
                " of them, cannot be read: " + std::string(status.text()));
        reportedErrors.emplace(status.text());
        if (lost->high.empty()) {
            behind.reset();
            return Status::ok();  // the cursor has no position, as at the end
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

/// Reports errors that only look-ups have met: nothing unreadable is skipped silently.
void Verification::Impl::reportLookupErrors() {
    for (const std::string& text : lookupErrors) {
        if (!reportedErrors.contains(text)) {
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
        lookupErrors.emplace(status.text());
        return Status::ok();
    }
    FRESHET_RETURN_IF_ERROR(status);
    if (value != entryValue(index, id)) {
        problem("index " + index.name + ": the entry of record " + std::to_string(id) +
                " names another record");
    }
    return Status::ok();
}

void Verification::Impl::startDocument() {
    keysOfIndex = 0;
    phase = Phase::kKeys;
    if (!bson::Document::parse(records.value()).isOk() || records.key().size() != 8) {
        problem("record " + std::to_string(recordIdOf(records.key())) + " is not a document");
        phase = Phase::kNextDocument;
    }
}

/// Makes the keys of the document at the cursor, for one index after another.
void Verification::Impl::makeKeys() {
    if (keysOfIndex == collection->indexes.size()) {
        ++report.documents;
        phase = Phase::kNextDocument;
        return;
    }
    const Index& index = indexOfKeys();
    keyAt = 0;
    const Status made = makeIndexKeys(index, bson::Document(records.value()), &keys);
    if (!made.isOk()) {
        problem("index " + index.name + ": record " + std::to_string(recordIdOf(records.key())) +
                ": " + std::string(made.text()));
        ++keysOfIndex;
        return;
    }
    if (keys.multikey && !index.isMultikey()) {
        problem("index " + index.name + " has array entries but is not marked multikey");
    }
    weight = keys.keys.size() / kKeysPerStep;
    phase = Phase::kKey;
}

Status Verification::Impl::stepDocuments() {
    switch (phase) {
        case Phase::kStart:
            FRESHET_RETURN_IF_ERROR(moveRecords(true));
            phase = Phase::kDocument;
            return Status::ok();
        case Phase::kDocument:
            records.valid() ? startDocument() : void(phase = Phase::kIndex);
            return Status::ok();
        case Phase::kKeys:
            makeKeys();
            return Status::ok();
        case Phase::kKey:
            if (keyAt == keys.keys.size()) {
                report.indexes[keysOfIndex++].expected += keys.keys.size();
                phase = Phase::kKeys;
                return Status::ok();
            }
            FRESHET_RETURN_IF_ERROR(
                checkEntry(indexOfKeys(), keys.keys[keyAt], recordIdOf(records.key())));
            ++keyAt;
            return Status::ok();
        default:
            FRESHET_RETURN_IF_ERROR(moveRecords(false));
            phase = Phase::kDocument;
            return Status::ok();
    }
}

/// If every expected entry has been found so far, counting is enough.
Status Verification::Impl::startIndex() {
    if (indexAt == collection->indexes.size()) {
        phase = Phase::kEnd;
        return Status::ok();
    }
    if (!entries.has_value()) {
        entries.emplace(txn, currentIndex().tree);
    }
    if (isSuspect || report.problemCount > 0 || !lookupErrors.empty()) {
        FRESHET_RETURN_IF_ERROR(moveEntries(true));
        phase = Phase::kEntry;
        return Status::ok();
    }
    return toCount(entries->first());
}

/// Handles a move of the entries' cursor.
Status Verification::Impl::toCount(const Status& moved) {
    if (isUnreadable(moved)) {
        lookAtEach();
        return Status::ok();
    }
    FRESHET_RETURN_IF_ERROR(moved);
    phase = Phase::kCount;
    return Status::ok();
}

void Verification::Impl::nextIndex() {
    entries.reset();
    wanted.clear();
    wantedBytes = 0;
    isSuspect = false;
    ++indexAt;
    phase = Phase::kIndex;
}

void Verification::Impl::lookAtEach() {
    entries.reset();
    report.indexes[indexAt].entries = 0;
    isSuspect = true;
    phase = Phase::kIndex;
}

Status Verification::Impl::stepCount() {
    VerifyReport::IndexPart& part = report.indexes[indexAt];
    if (phase == Phase::kCount) {
        if (!entries->valid()) {
            part.entries == part.expected ? nextIndex() : lookAtEach();
            return Status::ok();
        }
        ++part.entries;
        phase = Phase::kCountNext;
        return Status::ok();
    }
    return toCount(entries->next());
}

/// Whether the document has the entry at the cursor. REQUIRES: readWanted().
bool Verification::Impl::isWanted(RecordId id) const {
    ByteView key = entries->key();
    key.remove_suffix(currentIndex().unique ? 0 : sizeof(RecordId));
    const auto found = wanted.find(id);
    return found != wanted.end() &&
           std::binary_search(found->second.begin(), found->second.end(), key);
}

/// Reads the keys of the document in this index. The entries of a long array follow each other, so
/// its keys are kept rather than made again for each.
Status Verification::Impl::readWanted(RecordId id) {
    if (wanted.contains(id)) {
        return Status::ok();
    }
    std::string document;
    const Status status = readDocument(txn, *collection, id, &document);
    if (status.code() == Code::kNotFound) {
        return Status::ok();
    }
    FRESHET_RETURN_IF_ERROR(status);
    IndexKeys made;
    const auto parsed = bson::Document::parse(document);
    if (!parsed.isOk() || !makeIndexKeys(currentIndex(), *parsed, &made).isOk()) {
        return Status::ok();
    }
    weight = made.keys.size() / kKeysPerStep;
    if (wantedBytes > kWantedBytesMax) {
        wanted.clear();
        wantedBytes = 0;
    }
    for (const std::string& key : made.keys) {
        wantedBytes += sizeof(key) + key.size();
    }
    wanted.emplace(id, std::move(made.keys));
    return Status::ok();
}

/// The entry at the cursor must belong to a document that has it.
Status Verification::Impl::checkFoundEntry() {
    const Index& index = currentIndex();
    auto id = recordIdOfEntry(index, entries->key(), entries->value());
    if (!id.isOk()) {
        problem(std::string(id.status().text()));
        return Status::ok();
    }
    Status status = readWanted(*id);
    if (isUnreadable(status)) {
        lookupErrors.emplace(status.text());
        ++report.indexes[indexAt].unchecked;
        ++report.indexes[indexAt].entries;
        return Status::ok();
    }
    FRESHET_RETURN_IF_ERROR(status);
    if (!isWanted(*id)) {
        problem("index " + index.name + ": an entry of record " + std::to_string(*id) +
                " that its document does not have");
    }
    ++report.indexes[indexAt].entries;
    return Status::ok();
}

Status Verification::Impl::stepEntries() {
    if (phase == Phase::kNextEntry) {
        FRESHET_RETURN_IF_ERROR(moveEntries(false));
        phase = Phase::kEntry;
        return Status::ok();
    }
    if (!entries->valid()) {
        nextIndex();
        return Status::ok();
    }
    FRESHET_RETURN_IF_ERROR(checkFoundEntry());
    phase = Phase::kNextEntry;
    return Status::ok();
}

Status Verification::Impl::step() {
    switch (phase) {
        case Phase::kIndex:
            return startIndex();
        case Phase::kCount:
        case Phase::kCountNext:
            return stepCount();
        case Phase::kEntry:
        case Phase::kNextEntry:
            return stepEntries();
        case Phase::kEnd:
            reportLookupErrors();
            phase = Phase::kDone;
            return Status::ok();
        default:
            return stepDocuments();
    }
}

Verification::Verification(engine::Store& store, CollectionRef collection)
    : impl_(std::make_unique<Impl>(store, std::move(collection))) {}
Verification::~Verification() = default;

Status Verification::run() {
    sync::Slice slice(impl_->store.epochs());
    // The description may be older than the snapshot, so an index may have been dropped.
    bool dropped = impl_->collection->isDropped();
    for (const auto& index : impl_->collection->indexes) {
        dropped |= index->isDropped();
    }
    if (dropped) {
        return Status(Code::kCancelled,
                      Reason::kQueryPlanKilled,
                      impl_->collection->ns() + " or one of its indexes was dropped");
    }
    uint64_t steps = 0;
    while (impl_->phase != Impl::Phase::kDone) {
        if (steps >= kStepsPerSlice) {
            impl_->token = sync::WaitToken::completed();
            return Status::wouldBlock();
        }
        Status status = impl_->step();
        steps += 1 + std::exchange(impl_->weight, 0);
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
