// SPDX-License-Identifier: Apache-2.0
/// DocumentWriter: a document's change as a list of engine writes in a fixed order, carried out
/// across suspensions.
#include "freshet/base/assert.h"
#include "freshet/catalog/documents.h"
#include "freshet/catalog/event.h"
#include "freshet/catalog/index/index_keys.h"
#include "freshet/catalog/names/record.h"
#include "freshet/catalog/state/state.h"

#include <algorithm>

namespace freshet::catalog {

namespace {

/// After writing this many entries of a document, it lets others run.
constexpr size_t kStepsPerTurn = 512;

enum class StepKind : uint8_t { kMultikey, kPut, kInsert, kErase, kEvent };

/// What a call changes: `before` and `after` as far as there are such documents.
struct DocumentChange {
    RecordId id = 0;
    const bson::Document* before = nullptr;
    const bson::Document* after = nullptr;
    bool isReplacement = false;
};

/// One engine write. Steps refer to the description and to the caller's documents.
struct Step {
    StepKind kind;
    const Index* index = nullptr;  // null: the records, or (kMultikey) the catalog record
    std::string key;               // of an index: without the record id
};

/// Entries that are in only one of two ascending key lists, ascending.
void diffKeys(const Index& index,
              const std::vector<std::string>& before,
              const std::vector<std::string>& after,
              std::vector<Step>* steps) {
    size_t b = 0;
    size_t a = 0;
    while (b < before.size() || a < after.size()) {
        int order = b == before.size() ? 1 : a == after.size() ? -1 : before[b].compare(after[a]);
        if (order == 0) {
            ++b;
            ++a;
        } else if (order < 0) {
            steps->push_back({StepKind::kErase, &index, before[b++]});
        } else {
            steps->push_back({StepKind::kInsert, &index, after[a++]});
        }
    }
}

}  // namespace

struct DocumentWriter::Impl {
    Impl(engine::Txn& t, CollectionRef c, engine::Store* s)
        : txn(t), collection(std::move(c)), store(s) {}

    Status plan(StepKind kind, const bson::Document* before, const bson::Document* after);
    Status run(const DocumentChange& change);
    Status perform(const Step& step, const DocumentChange& change);
    Status addEvent(const DocumentChange& change);
    Status recordMultikey(engine::Txn& in);
    Status recordMultikeyApart();
    Status duplicate(engine::Tree& tree, const Step& step, ByteView key, bson::Document after);

    engine::Txn& txn;
    CollectionRef collection;
    engine::Store* const store;        // null: the transaction is of this change alone
    std::optional<engine::Txn> apart;  // in which recordMultikeyApart() is working
    std::vector<Step> steps;
    size_t done = 0;
    bool gaveWay = false;   // the last call let others run
    bool planned = false;   // a call has returned WouldBlock and will be repeated
    RecordId target = 0;    // for an insert or a put
    bool replaces = false;  // a put has found a document,
    std::string replaced;   // which is this one
    bson::OwnedDocument duplicateInfo;
};

/// Makes the steps: catalog record, document, its event, indexes in their order, keys ascending.
Status DocumentWriter::Impl::plan(StepKind kind,
                                  const bson::Document* before,
                                  const bson::Document* after) {
    steps.clear();
    done = 0;
    std::vector<Step> entries;
    bool mustRecord = false;
    IndexKeys oldKeys;
    IndexKeys newKeys;
    for (const auto& index : collection->indexes) {
        oldKeys.keys.clear();
        newKeys.keys.clear();
        if (before != nullptr) {
            FRESHET_RETURN_IF_ERROR(makeIndexKeys(*index, *before, &oldKeys));
        }
        if (after != nullptr) {
            FRESHET_RETURN_IF_ERROR(makeIndexKeys(*index, *after, &newKeys));
            if (newKeys.multikey) {
                // [index.multikeySet] store  tells planners, before our commit.
                //   ORDER  relaxed: the commit's clock step carries it (INV-catalog-3).
                index->state->multikey.store(1, sync::kRelaxed);
                // Relaxed: an old 0 only costs a read of the record.
                mustRecord |= index->state->multikeyRecorded.load(sync::kRelaxed) == 0;
            }
        }
        diffKeys(*index, oldKeys.keys, newKeys.keys, &entries);
    }
    if (mustRecord) {
        steps.push_back({StepKind::kMultikey, nullptr, {}});
    }
    steps.push_back({kind, nullptr, {}});
    if (hasEvents(collection->db, collection->name)) {
        steps.push_back({StepKind::kEvent, nullptr, {}});
    }
    std::move(entries.begin(), entries.end(), std::back_inserter(steps));
    return Status::ok();
}

Status DocumentWriter::Impl::run(const DocumentChange& change) {
    gaveWay = false;
    for (size_t turn = 1; done < steps.size(); ++turn) {
        Status status = perform(steps[done], change);
        if (status.isOk()) {
            ++done;
            if (turn < kStepsPerTurn || done == steps.size()) {
                continue;
            }
            gaveWay = true;
            return Status::wouldBlock();
        }
        if (!status.isWouldBlock()) {
            planned = false;
        }
        return status;
    }
    planned = false;
    return Status::ok();
}

/// Behind the document's put, where a reader of the log looks for it.
Status DocumentWriter::Impl::addEvent(const DocumentChange& change) {
    std::string event;
    if (change.before == nullptr) {
        encodeInsert(*collection, change.id, &event);
    } else if (change.after == nullptr) {
        encodeDelete(*collection, change.id, *change.before, &event);
    } else {
        encodeUpdate(
            *collection, change.id, *change.before, *change.after, change.isReplacement, &event);
    }
    return txn.addEvent(event);
}

Status DocumentWriter::Impl::perform(const Step& step, const DocumentChange& change) {
    if (step.kind == StepKind::kMultikey) {
        return store == nullptr ? recordMultikey(txn) : recordMultikeyApart();
    }
    if (step.kind == StepKind::kEvent) {
        return addEvent(change);
    }
    const RecordId id = change.id;
    const bson::Document* const after = change.after;
    engine::Tree& tree = step.index == nullptr ? *collection->records : *step.index->tree;
    std::string key = step.index == nullptr ? recordKey(id) : entryKey(*step.index, step.key, id);
    Status status;
    if (step.kind == StepKind::kErase) {
        status = txn.erase(tree, key);
        if (status.code() == Code::kNotFound) {
            return Status(
                Code::kCorruption,
                collection->ns() + (step.index == nullptr
                                        ? ": no such record"
                                        : ", index " + step.index->name + ": an entry is missing"));
        }
    } else if (step.index == nullptr) {
        status = step.kind == StepKind::kInsert ? txn.insert(tree, key, after->bytes())
                                                : txn.put(tree, key, after->bytes());
    } else {
        status = txn.insert(tree, key, entryValue(*step.index, id));
    }
    if (status.code() != Code::kExists) {
        return status;
    }
    if (step.index == nullptr || !step.index->unique) {
        return Status(Code::kCorruption, collection->ns() + ": a record id is in use already");
    }
    return duplicate(tree, step, key, *after);
}

/// The key is there. If it is newer than the snapshot, its transaction was simply first: what this
/// one has read may be outdated.
Status DocumentWriter::Impl::duplicate(engine::Tree& tree,
                                       const Step& step,
                                       ByteView key,
                                       bson::Document after) {
    if (store != nullptr) {
        std::string value;
        const Status visible = txn.get(tree, key, &value);
        if (visible.code() == Code::kNotFound) {
            return Status(
                Code::kConflict, Reason::kWriteConflict, "the key is newer than the snapshot");
        }
        FRESHET_RETURN_IF_ERROR(visible);
    }
    return duplicateKey(*collection, *step.index, after, step.key, &duplicateInfo);
}

/// In a transaction of its own: the record must not stay locked until the caller's ends, since
/// definition changes write it as well. A flag that is set too early does no harm. A collection
/// that is still unknown to others has no record; the commit writes it.
Status DocumentWriter::Impl::recordMultikeyApart() {
    if (collection->state->isPending) {
        return Status::ok();
    }
    if (!apart.has_value()) {
        apart.emplace(*store);
    }
    Status status = recordMultikey(*apart);
    if (status.isOk()) {
        status = apart->commit();
    }
    if (status.code() == Code::kConflict) {
        apart->abort();
        apart->begin();
        gaveWay = true;
        return Status::wouldBlock();
    }
    if (!status.isWouldBlock()) {
        apart.reset();
    }
    return status;
}

/// Writes into the catalog record which indexes have array entries. A writer that already finds
/// them there in its own snapshot knows that they are committed.
Status DocumentWriter::Impl::recordMultikey(engine::Txn& in) {
    std::string key = catalogKey(collection->db, collection->name);
    std::string bytes;
    engine::Tree& tree = *collection->state->catalogTree;
    Status status = in.get(tree, key, &bytes);
    if (status.code() == Code::kNotFound) {
        return Status(Code::kConflict, "the snapshot is older than the collection");
    }
    FRESHET_RETURN_IF_ERROR(status);
    FRESHET_ASSIGN_OR_RETURN(CollectionRecord record, CollectionRecord::decode(bytes));
    bool changed = false;
    for (const auto& index : collection->indexes) {
        // Relaxed: our own store must be seen, and others' may be.
        if (index->state->multikey.load(sync::kRelaxed) == 0) {
            continue;
        }
        auto found = std::find_if(record.indexes.begin(),
                                  record.indexes.end(),
                                  [&](const IndexRecord& r) { return r.tree == index->treeId; });
        if (found == record.indexes.end()) {
            return Status(Code::kConflict, "the snapshot is older than an index");
        }
        if (found->multikey) {
            // Relaxed: it only avoids later reads.
            index->state->multikeyRecorded.store(1, sync::kRelaxed);
        } else {
            found->multikey = true;
            changed = true;
        }
    }
    return changed ? in.put(tree, key, record.encode()) : Status::ok();
}

DocumentWriter::DocumentWriter(engine::Txn& txn, CollectionRef collection, engine::Store* store)
    : impl_(std::make_unique<Impl>(txn, std::move(collection), store)) {}
DocumentWriter::~DocumentWriter() = default;

Status DocumentWriter::insert(bson::Document document, RecordId* id) {
    if (!impl_->planned) {
        FRESHET_RETURN_IF_ERROR(impl_->plan(StepKind::kInsert, nullptr, &document));
        impl_->planned = true;
        // [record.next] fetch_add  takes a record id.
        //   ORDER  relaxed: see CollectionState::nextRecordId.
        impl_->target = impl_->collection->nextRecordId->fetch_add(1, sync::kRelaxed);
    }
    *id = impl_->target;
    return impl_->run({.id = *id, .after = &document});
}

Status DocumentWriter::update(RecordId id,
                              bson::Document before,
                              bson::Document after,
                              bool isReplacement) {
    if (!impl_->planned) {
        FRESHET_RETURN_IF_ERROR(impl_->plan(StepKind::kPut, &before, &after));
        impl_->planned = true;
    }
    return impl_->run(
        {.id = id, .before = &before, .after = &after, .isReplacement = isReplacement});
}

Status DocumentWriter::remove(RecordId id, bson::Document before) {
    if (!impl_->planned) {
        FRESHET_RETURN_IF_ERROR(impl_->plan(StepKind::kErase, &before, nullptr));
        impl_->planned = true;
    }
    return impl_->run({.id = id, .before = &before});
}

Status DocumentWriter::put(bson::Document document) {
    if (!impl_->planned) {
        const Status found = readDocumentById(
            impl_->txn, *impl_->collection, document, &impl_->target, &impl_->replaced);
        impl_->replaces = found.isOk();
        if (!found.isOk() && found.code() != Code::kNotFound) {
            return found;
        }
    }
    return impl_->replaces ? update(impl_->target, bson::Document(impl_->replaced), document, true)
                           : insert(document, &impl_->target);
}

const sync::WaitToken& DocumentWriter::token() const {
    static const sync::WaitToken kCompleted = sync::WaitToken::completed();
    return impl_->gaveWay             ? kCompleted
           : impl_->apart.has_value() ? impl_->apart->token()
                                      : impl_->txn.token();
}

const bson::OwnedDocument& DocumentWriter::duplicateKeyInfo() const {
    return impl_->duplicateInfo;
}

Status readDocument(engine::Txn& txn,
                    const Collection& collection,
                    RecordId id,
                    std::string* document) {
    return txn.get(*collection.records, recordKey(id), document);
}

Status readDocumentById(engine::Txn& txn,
                        const Collection& collection,
                        bson::Document holder,
                        RecordId* id,
                        std::string* document) {
    const Index& idIndex = *collection.indexes[0];
    IndexKeys wanted;
    FRESHET_RETURN_IF_ERROR(makeIndexKeys(idIndex, holder, &wanted));
    const std::string& key = wanted.keys.front();
    std::string entry;
    FRESHET_RETURN_IF_ERROR(txn.get(*idIndex.tree, key, &entry));
    FRESHET_ASSIGN_OR_RETURN(*id, recordIdOfEntry(idIndex, key, entry));
    return readDocument(txn, collection, *id, document);
}

std::string recordKey(RecordId id) {
    std::string key;
    appendBe64(key, id);
    return key;
}

RecordId recordIdOf(ByteView key) {
    return key.size() < sizeof(RecordId) ? 0 : loadBe64(key.data());
}

}  // namespace freshet::catalog
