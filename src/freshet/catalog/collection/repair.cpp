// SPDX-License-Identifier: Apache-2.0
/// Repair: first gives names to orphaned collections, then takes each collection: verifies it, and
/// if there are problems, cleans the records and builds every index again beside the old one.
#include "freshet/catalog/repair.h"

#include "freshet/bson/json.h"
#include "freshet/bson/keyform.h"
#include "freshet/catalog/collection/blocking.h"
#include "freshet/catalog/collection/make.h"
#include "freshet/catalog/documents.h"
#include "freshet/catalog/index/index_builder.h"
#include "freshet/catalog/index/index_keys.h"
#include "freshet/catalog/names/record.h"
#include "freshet/catalog/state/state.h"
#include "freshet/catalog/verify.h"
#include "freshet/engine/loss.h"

#include <algorithm>
#include <optional>
#include <set>

namespace freshet::catalog {

namespace {

constexpr size_t kNamedDocumentsMax = 10'000;  // per collection
constexpr char kOrphansDatabase[] = "local";

std::string between(const std::string& low, const std::string& high) {
    return (low.empty() ? "from the first" : "from " + low) +
           (high.empty() ? " to the last" : " to below " + high);
}

/// Which collections a damaged page of the catalog may have named.
std::string damagedNames(const engine::TreeLoss& loss) {
    const auto nameOf = [](const std::string& key) {
        std::string db;
        std::string name;
        return !key.empty() && splitCatalogKey(key, &db, &name) ? db + "." + name : "";
    };
    return "names, options and indexes of collections, " +
           between(nameOf(loss.low), nameOf(loss.high)) + ", were on a damaged page";
}

std::string damagedDocuments(const Collection& collection, const engine::TreeLoss& loss) {
    const auto idOf = [](const std::string& key) {
        return key.empty()
                   ? std::string()
                   : std::to_string(recordIdOf(
                         (key + std::string(sizeof(RecordId), '\0')).substr(0, sizeof(RecordId))));
    };
    return collection.ns() +
           (loss.isOneKey ? ": the document of record " + idOf(loss.low) + " was on a damaged page"
                          : ": documents were on a damaged page, of records " +
                                between(idOf(loss.low), idOf(loss.high)));
}

std::string damagedKeys(const Collection& collection,
                        const Index& index,
                        const engine::TreeLoss& loss) {
    // Where pages meet the keys are as short as they can be: some are no values any more.
    const auto valuesOf = [&index](const std::string& key) {
        const auto values = bson::restoreKeyForm(key, {}, index.descending());
        std::string text;
        for (const bson::Element& value : values.isOk() ? values->view() : bson::Document()) {
            text += (text.empty() ? "" : ", ") + bson::toShellText(value);
        }
        return text;
    };
    const std::string low = valuesOf(loss.low);
    const std::string high = valuesOf(loss.high);
    const bool isShown =
        !loss.isCut && low.empty() == loss.low.empty() && high.empty() == loss.high.empty();
    return collection.ns() + ": index " + index.name + ", " +
           (isShown ? "keys " + between(low, high) : std::string("some of its keys")) +
           ", was on a damaged page; it is made anew from the documents";
}

/// Empty when the damage is in none of its trees.
std::string damagedPartOf(const Collection& collection, const engine::TreeLoss& loss) {
    if (collection.treeId == loss.tree) {
        return damagedDocuments(collection, loss);
    }
    for (const auto& index : collection.indexes) {
        if (index->treeId == loss.tree) {
            return damagedKeys(collection, *index, loss);
        }
    }
    return {};
}

class Repair {
public:
    Repair(engine::Store& store, PredicateCompiler compiler) : core_(store, std::move(compiler)) {}

    Status run() {
        FRESHET_RETURN_IF_ERROR(nameOrphans());
        FRESHET_RETURN_IF_ERROR(core_.readAll());
        tellDamage();
        Status status;
        core_.names()->forEach([&](const CollectionRef& collection) {
            if (status.isOk()) {
                status = mend(collection).withContext(collection->ns());
            }
        });
        return status;
    }
    std::vector<std::string> takeReport() { return std::move(report_); }

private:
    Status nameOrphans();
    StatusOr<std::set<engine::TreeId>> namedTrees();
    StatusOr<bool> holdsDocuments(engine::TreeId id);
    Status nameOrphan(engine::TreeId id);

    void tellDamage();
    Status mend(const CollectionRef& collection);
    Status reportLostDocuments(const Collection& collection);
    Status cleanRecords(const Collection& collection, bool onlyOneOfEachId);
    Status rebuild(const Collection& collection);
    Status rebuildIndex(const Index& old, const std::shared_ptr<Collection>& next);
    Status build(const IndexRecord& record, const std::shared_ptr<Collection>& next);
    Status putRecord(const std::string& db,
                     const std::string& name,
                     const CollectionRecord& record);

    template <typename Visit>
    Status forEach(const engine::TreeRef& tree, Visit visit) {
        engine::Txn txn(core_.store);
        engine::Cursor cursor(txn, tree);
        Status status = untilDone(txn, [&] { return cursor.first(); });
        while (status.isOk() && cursor.valid()) {
            FRESHET_RETURN_IF_ERROR(visit(txn, cursor));
            status = untilDone(txn, [&] { return cursor.next(); });
        }
        return status;
    }
    Status eraseAll(const engine::TreeRef& tree, const std::vector<std::string>& keys);
    Status commit(engine::Txn& txn) {
        return untilDone(txn, [&] { return txn.commit(); });
    }

    CatalogCore core_;
    std::vector<std::string> report_;
};

/// Finds documents that a damaged catalog no longer names. The remains of a drop or of an
/// unfinished change look the same, so they come back, too: that is better than losing documents.
Status Repair::nameOrphans() {
    FRESHET_ASSIGN_OR_RETURN(const std::set<engine::TreeId> named, namedTrees());
    const std::vector<engine::TreeId> present = core_.store.treeIds();
    core_.store.reserveTreeIds(std::max(*named.rbegin(), present.back()));
    if (!core_.store.mayHaveLost(engine::kCatalogTree)) {
        return Status::ok();
    }
    for (const engine::TreeId id : present) {
        if (named.contains(id)) {
            continue;
        }
        FRESHET_ASSIGN_OR_RETURN(const bool isCollection, holdsDocuments(id));
        if (isCollection) {
            FRESHET_RETURN_IF_ERROR(nameOrphan(id));
        }
    }
    return Status::ok();
}

StatusOr<std::set<engine::TreeId>> Repair::namedTrees() {
    std::set<engine::TreeId> named{engine::kCatalogTree};
    const engine::TreeRef catalog = core_.store.tree(engine::kCatalogTree);
    FRESHET_RETURN_IF_ERROR(forEach(catalog, [&](engine::Txn&, engine::Cursor& cursor) -> Status {
        FRESHET_ASSIGN_OR_RETURN(const auto record, CollectionRecord::decode(cursor.value()));
        named.insert(record.tree);
        for (const IndexRecord& index : record.indexes) {
            named.insert(index.tree);
        }
        return Status::ok();
    }));
    return named;
}

/// False for an index: its values are empty or record ids, which are too short for a document.
StatusOr<bool> Repair::holdsDocuments(engine::TreeId id) {
    engine::Txn txn(core_.store);
    engine::Cursor cursor(txn, core_.store.tree(id));
    FRESHET_RETURN_IF_ERROR(untilDone(txn, [&] { return cursor.first(); }));
    return cursor.valid() && cursor.key().size() == sizeof(RecordId) &&
           cursor.value().size() > sizeof(RecordId) && bson::Document::parse(cursor.value()).isOk();
}

Status Repair::nameOrphan(engine::TreeId id) {
    CollectionRecord record;
    record.uuid = newUuid();
    record.tree = id;
    record.indexes.push_back({core_.store.newTreeId(), false, idIndexSpec()});
    const std::string name = "orphan." + std::to_string(id);
    report_.push_back("the name, the options and the indexes of a collection (tree " +
                      std::to_string(id) + "); its documents are in " + kOrphansDatabase + "." +
                      name);
    return putRecord(kOrphansDatabase, name, record);
}

Status Repair::putRecord(const std::string& db,
                         const std::string& name,
                         const CollectionRecord& record) {
    engine::Txn txn(core_.store);
    const engine::TreeRef catalog = core_.store.tree(engine::kCatalogTree);
    FRESHET_RETURN_IF_ERROR(
        untilDone(txn, [&] { return txn.put(*catalog, catalogKey(db, name), record.encode()); }));
    return commit(txn);
}

/// What the engine gave up, for people who know collections and not trees.
void Repair::tellDamage() {
    for (const std::string& line : core_.store.losses()) {
        const std::optional<engine::TreeLoss> loss = engine::treeLossIn(line);
        if (!loss.has_value()) {
            continue;
        }
        std::string text = loss->tree == engine::kCatalogTree ? damagedNames(*loss) : "";
        core_.names()->forEach([&](const CollectionRef& collection) {
            text = text.empty() ? damagedPartOf(*collection, *loss) : std::move(text);
        });
        report_.push_back(!text.empty() ? std::move(text)
                                        : "tree " + std::to_string(loss->tree) +
                                              ", which no collection's name leads to");
    }
}

Status Repair::mend(const CollectionRef& collection) {
    FRESHET_ASSIGN_OR_RETURN(const VerifyReport found, verifyCollection(core_.store, collection));
    if (found.isValid()) {
        return Status::ok();
    }
    FRESHET_RETURN_IF_ERROR(reportLostDocuments(*collection));
    FRESHET_RETURN_IF_ERROR(cleanRecords(*collection, false));
    return rebuild(*collection);
}

/// Reports the documents that the _id index still names but that are lost.
Status Repair::reportLostDocuments(const Collection& collection) {
    const Index& ids = *collection.indexes.front();
    uint64_t lost = 0;
    const auto look = [&](engine::Txn& txn, engine::Cursor& cursor) -> Status {
        std::string document;
        auto id = recordIdOfEntry(ids, cursor.key(), cursor.value());
        if (!id.isOk()) {
            return Status::ok();
        }
        Status status =
            untilDone(txn, [&] { return readDocument(txn, collection, *id, &document); });
        if (status.code() != Code::kNotFound) {
            return status;
        }
        if (++lost <= kNamedDocumentsMax) {
            auto values = bson::restoreKeyForm(cursor.key(), {}, ids.descending());
            report_.push_back(collection.ns() + ": a document, its _id: " +
                              (values.isOk() ? bson::toShellText(values->view().find("0"))
                                             : std::string("unknown")));
        }
        return Status::ok();
    };
    FRESHET_RETURN_IF_ERROR(forEach(ids.tree, look));
    if (lost > 0) {
        report_.push_back(collection.ns() + ": " + std::to_string(lost) +
                          " lost documents are in the _id index");
    }
    return Status::ok();
}

Status Repair::cleanRecords(const Collection& collection, bool onlyOneOfEachId) {
    std::vector<std::string> gone;
    std::set<std::string> ids;
    const auto look = [&](engine::Txn&, engine::Cursor& cursor) -> Status {
        auto document = bson::Document::parse(cursor.value());
        const bool isGood =
            cursor.key().size() == sizeof(RecordId) && document.isOk() && document->has("_id");
        IndexKeys keys;
        const bool isFirst =
            isGood && (!onlyOneOfEachId ||
                       (makeIndexKeys(*collection.indexes.front(), *document, &keys).isOk() &&
                        ids.insert(keys.keys.at(0)).second));
        if (!isFirst) {
            gone.emplace_back(cursor.key());
            report_.push_back(
                collection.ns() + ": record " + std::to_string(recordIdOf(cursor.key())) +
                (isGood ? ", whose _id an older document has" : ", which is not a document"));
        }
        return Status::ok();
    };
    FRESHET_RETURN_IF_ERROR(forEach(collection.records, look));
    return eraseAll(collection.records, gone);
}

Status Repair::eraseAll(const engine::TreeRef& tree, const std::vector<std::string>& keys) {
    for (const std::string& key : keys) {
        engine::Txn txn(core_.store);
        FRESHET_RETURN_IF_ERROR(untilDone(txn, [&] { return txn.erase(*tree, key); }));
        FRESHET_RETURN_IF_ERROR(commit(txn));
    }
    return Status::ok();
}

Status Repair::rebuild(const Collection& collection) {
    auto next = std::make_shared<Collection>(collection);
    next->indexes.clear();
    for (const auto& index : collection.indexes) {
        FRESHET_RETURN_IF_ERROR(rebuildIndex(*index, next));
    }
    FRESHET_RETURN_IF_ERROR(putRecord(next->db, next->name, recordOf(*next)));
    for (const auto& index : collection.indexes) {
        core_.store.dropTree(index->treeId);
    }
    return Status::ok();
}

Status Repair::rebuildIndex(const Index& old, const std::shared_ptr<Collection>& next) {
    const IndexRecord record{core_.store.newTreeId(), false, old.spec};
    Status status = build(record, next);
    if (status.code() != Code::kExists) {
        return status;
    }
    core_.store.dropTree(record.tree);
    if (old.isId()) {
        auto withIds = *next;
        FRESHET_ASSIGN_OR_RETURN(auto ids, makeIndex(core_.store, core_.compiler, record));
        withIds.indexes = {std::move(ids)};
        FRESHET_RETURN_IF_ERROR(cleanRecords(withIds, true));
        return build({core_.store.newTreeId(), false, old.spec}, next);
    }
    report_.push_back(next->ns() + ": index " + old.name +
                      ", because two documents have the same key: " + std::string(status.text()));
    return Status::ok();
}

/// Adds the index to `next` once it is built. kExists: two documents have the same key.
Status Repair::build(const IndexRecord& record, const std::shared_ptr<Collection>& next) {
    FRESHET_ASSIGN_OR_RETURN(auto index, makeIndex(core_.store, core_.compiler, record));
    IndexBuilder builder(core_.store, next, {index});
    Status status = builder.run();
    while (status.isWouldBlock()) {
        sync::blockOn(builder.token());
        status = builder.run();
    }
    FRESHET_RETURN_IF_ERROR(status);
    next->indexes.push_back(std::move(index));
    return Status::ok();
}

}  // namespace

StatusOr<std::vector<std::string>> repairCollections(engine::Store& store,
                                                     PredicateCompiler compiler) {
    Repair repair(store, std::move(compiler));
    FRESHET_RETURN_IF_ERROR(repair.run());
    return repair.takeReport();
}

}  // namespace freshet::catalog
