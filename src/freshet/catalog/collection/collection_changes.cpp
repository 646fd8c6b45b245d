// SPDX-License-Identifier: Apache-2.0
/// Creating and dropping collections and databases.
#include "freshet/bson/compare.h"
#include "freshet/bson/json.h"
#include "freshet/catalog/collection/changes.h"
#include "freshet/catalog/collection/make.h"
#include "freshet/catalog/names/record.h"
#include "freshet/catalog/state/state.h"
#include "freshet/catalog/writable_names.h"

namespace freshet::catalog {

void dropTrees(engine::Store& store, const Collection& collection) {
    store.dropTree(collection.treeId);
    for (const auto& index : collection.indexes) {
        store.dropTree(index->treeId);
    }
}

namespace {

class CreateCollection final : public DefinitionChange {
public:
    CreateCollection(CatalogCore& core,
                     std::string db,
                     std::string name,
                     bson::OwnedDocument options,
                     bool ifMissing)
        : DefinitionChange(core),
          db_(std::move(db)),
          name_(std::move(name)),
          options_(std::move(options)),
          ifMissing_(ifMissing) {}
    ~CreateCollection() override { giveUp(); }

private:
    Status prepare() override {
        FRESHET_RETURN_IF_ERROR(checkNames(db_, name_));
        if (CollectionRef existing = core_.find(db_, name_)) {
            return checkSame(*existing);
        }
        FRESHET_RETURN_IF_ERROR(checkWritable(db_, name_));
        FRESHET_ASSIGN_OR_RETURN(collection_, makeEmptyCollection(core_, db_, name_, options_));
        return Status::ok();
    }

    Status checkSame(const Collection& existing) {
        bool same = bson::compareDocuments(existing.options.view(), options_.view()) == 0;
        if (same && ifMissing_) {
            nothingToDo_ = true;
            return Status::ok();
        }
        return Status(Code::kExists,
                      Reason::kNamespaceExists,
                      same ? "Collection " + existing.ns() + " already exists."
                           : "namespace " + existing.ns() +
                                 " already exists, but with different options: " +
                                 bson::toShellText(existing.options.view()));
    }

    Status write(engine::Txn& txn) override {
        return txn.put(*collection_->state->catalogTree,
                       catalogKey(db_, name_),
                       recordOf(*collection_).encode());
    }

    Status addEvents(engine::Txn& txn) override { return addCreateEvent(txn, *collection_); }

    void publish() override {
        makeCurrent(collection_, since_);
        core_.publish([&](NameMap* map) { map->set(collection_); });
    }

    void undo() override {
        if (collection_ != nullptr) {
            dropTrees(core_.store, *collection_);
        }
    }

    std::string db_;
    std::string name_;
    bson::OwnedDocument options_;
    bool ifMissing_;
    std::shared_ptr<Collection> collection_;
};

/// Drops one collection, or all collections of a database if no name is given.
class DropCollections final : public DefinitionChange {
public:
    DropCollections(CatalogCore& core, std::string db, std::optional<std::string> name)
        : DefinitionChange(core), db_(std::move(db)), name_(std::move(name)) {}
    ~DropCollections() override { giveUp(); }

private:
    Status prepare() override {
        if (name_.has_value()) {
            CollectionRef collection = core_.find(db_, *name_);
            if (collection == nullptr) {
                return Status(Code::kNotFound, Reason::kNamespaceNotFound, "ns not found");
            }
            doomed_.push_back(std::move(collection));
        } else {
            doomed_ = core_.names()->collections(db_);
        }
        gated_ = doomed_;
        nothingToDo_ = doomed_.empty();
        return Status::ok();
    }

    Status write(engine::Txn& txn) override {
        for (; erased_ < doomed_.size(); ++erased_) {
            const Collection& collection = *doomed_[erased_];
            FRESHET_RETURN_IF_ERROR(
                txn.erase(*collection.state->catalogTree, catalogKey(db_, collection.name)));
        }
        return Status::ok();
    }

    Status addEvents(engine::Txn& txn) override {
        for (const CollectionRef& collection : doomed_) {
            FRESHET_RETURN_IF_ERROR(addDefinitionEvent(txn, EventKind::kDrop, *collection));
        }
        if (name_.has_value() || !hasEvents(db_, {})) {
            return Status::ok();
        }
        std::string event;
        encodeDefinition(EventKind::kDropDatabase, db_, {}, {}, bson::Document(), &event);
        return txn.addEvent(event);
    }

    void publish() override {
        core_.noteRemoval(since_);
        core_.publish([&](NameMap* map) {
            for (const CollectionRef& collection : doomed_) {
                map->erase(db_, collection->name);
            }
        });
        for (const CollectionRef& collection : doomed_) {
            collection->gate->retire();
            dropTrees(core_.store, *collection);
        }
    }

    std::string db_;
    std::optional<std::string> name_;
    std::vector<CollectionRef> doomed_;
    size_t erased_ = 0;
};

}  // namespace

Status addCreateEvent(engine::Txn& txn, const Collection& collection) {
    bson::Builder details;
    details.add("options", collection.options.view());
    details.add("idIndex", collection.indexes.front()->spec.view());
    return addDefinitionEvent(
        txn, EventKind::kCreate, collection, bson::OwnedDocument(details.finish()).view());
}

StatusOr<std::shared_ptr<Collection>> makeEmptyCollection(CatalogCore& core,
                                                          const std::string& db,
                                                          const std::string& name,
                                                          const bson::OwnedDocument& options) {
    FRESHET_RETURN_IF_ERROR(checkDatabaseCase(*core.names(), db));
    CollectionRecord record;
    record.uuid = newUuid();
    record.tree = core.store.newTreeId();
    record.options = options;
    record.indexes.push_back({core.store.newTreeId(), false, idIndexSpec()});
    return makeCollection(core.store, core.compiler, db, name, record);
}

std::unique_ptr<Change> makeCreateCollection(CatalogCore& core,
                                             std::string db,
                                             std::string collection,
                                             bson::OwnedDocument options,
                                             bool ifMissing) {
    return std::make_unique<CreateCollection>(
        core, std::move(db), std::move(collection), std::move(options), ifMissing);
}

std::unique_ptr<Change> makeDropCollection(CatalogCore& core,
                                           std::string db,
                                           std::string collection) {
    return std::make_unique<DropCollections>(core, std::move(db), std::move(collection));
}

std::unique_ptr<Change> makeDropDatabase(CatalogCore& core, std::string db) {
    return std::make_unique<DropCollections>(core, std::move(db), std::nullopt);
}

}  // namespace freshet::catalog
