// SPDX-License-Identifier: Apache-2.0
/// Creating and dropping indexes.
#include "freshet/catalog/collection/changes.h"
#include "freshet/catalog/collection/make.h"
#include "freshet/catalog/index/index_builder.h"
#include "freshet/catalog/index/index_spec.h"
#include "freshet/catalog/names/record.h"
#include "freshet/catalog/state/state.h"
#include "freshet/catalog/writable_names.h"

#include <algorithm>

namespace freshet::catalog {

namespace {

/// An event {indexes: [specifications]}.
template <typename Indexes>
Status addIndexEvent(engine::Txn& txn,
                     EventKind kind,
                     const Collection& collection,
                     const Indexes& indexes) {
    bson::Builder details;
    {
        bson::Builder specs = details.array("indexes");
        for (const auto& index : indexes) {
            specs.push(index->spec.view());
        }
    }
    return addDefinitionEvent(txn, kind, collection, bson::OwnedDocument(details.finish()).view());
}

/// Replaces a collection's description by one with other indexes.
class IndexChange : public DefinitionChange {
protected:
    IndexChange(CatalogCore& core, std::string db, std::string name, IndexCounts* counts)
        : DefinitionChange(core), db_(std::move(db)), name_(std::move(name)), counts_(counts) {}

    Status write(engine::Txn& txn) override {
        return txn.put(
            *next_->state->catalogTree, catalogKey(db_, name_), recordOf(*next_).encode());
    }

    void publish() override {
        makeCurrent(next_, since_);
        core_.publish([&](NameMap* map) { map->set(next_); });
    }

    std::string db_;
    std::string name_;
    IndexCounts* counts_;
    std::shared_ptr<Collection> next_;  // the new description
};

/// The specs of the requested indexes that the collection lacks.
StatusOr<std::vector<bson::OwnedDocument>> missingIndexes(
    const Collection& collection, const std::vector<IndexRequest>& requests) {
    std::vector<bson::OwnedDocument> present;
    for (const auto& index : collection.indexes) {
        present.push_back(index->spec);
    }
    return resolveIndexRequests(collection.ns(), present, requests);
}

class CreateIndexes final : public IndexChange {
public:
    CreateIndexes(CatalogCore& core,
                  std::string db,
                  std::string name,
                  std::vector<IndexRequest> requests,
                  IndexCounts* counts)
        : IndexChange(core, std::move(db), std::move(name), counts),
          requests_(std::move(requests)) {}
    ~CreateIndexes() override { giveUp(); }

private:
    Status prepare() override {
        FRESHET_RETURN_IF_ERROR(checkNames(db_, name_));
        const CollectionRef existing = core_.find(db_, name_);
        createsCollection_ = existing == nullptr;
        if (createsCollection_) {
            FRESHET_RETURN_IF_ERROR(checkWritable(db_, name_));
            FRESHET_ASSIGN_OR_RETURN(next_,
                                     makeEmptyCollection(core_, db_, name_, bson::OwnedDocument()));
        } else {
            next_ = std::make_shared<Collection>(*existing);
        }
        FRESHET_RETURN_IF_ERROR(addIndexes(core_, requests_, next_.get(), &created_, counts_));
        counts_->createdCollection = createsCollection_;
        nothingToDo_ = created_.empty() && !createsCollection_;
        if (!createsCollection_) {
            gated_.push_back(existing);
        }
        return Status::ok();
    }

    Status work() override {
        if (createsCollection_) {
            return Status::ok();  // a new collection is empty
        }
        if (!builder_.has_value()) {
            builder_.emplace(core_.store, next_, created_);
        }
        Status status = builder_->run();
        if (status.isWouldBlock()) {
            token_ = builder_->token();
        } else {
            builder_.reset();
        }
        return status;
    }

    Status addEvents(engine::Txn& txn) override {
        if (createsCollection_) {
            FRESHET_RETURN_IF_ERROR(addCreateEvent(txn, *next_));
        }
        return addCreateIndexesEvent(txn, *next_, created_);
    }

    void undo() override {
        builder_.reset();
        if (createsCollection_ && next_ != nullptr) {
            dropTrees(core_.store, *next_);
            return;
        }
        for (const auto& index : created_) {
            core_.store.dropTree(index->treeId);
        }
    }

    std::vector<IndexRequest> requests_;
    bool createsCollection_ = false;
    std::vector<std::shared_ptr<Index>> created_;
    std::optional<IndexBuilder> builder_;
};

class DropIndexes final : public IndexChange {
public:
    DropIndexes(CatalogCore& core,
                std::string db,
                std::string name,
                std::vector<std::string> names,
                IndexCounts* counts)
        : IndexChange(core, std::move(db), std::move(name), counts), names_(std::move(names)) {}
    ~DropIndexes() override { giveUp(); }

private:
    Status prepare() override {
        CollectionRef existing = core_.find(db_, name_);
        if (existing == nullptr) {
            return Status(
                Code::kNotFound, Reason::kNamespaceNotFound, "ns not found " + db_ + "." + name_);
        }
        for (const std::string& name : names_) {
            FRESHET_RETURN_IF_ERROR(choose(*existing, name));
        }
        next_ = std::make_shared<Collection>(*existing);
        std::erase_if(next_->indexes, [&](const auto& index) { return isChosen(index); });
        *counts_ = {static_cast<int>(existing->indexes.size()),
                    static_cast<int>(next_->indexes.size()),
                    false};
        nothingToDo_ = dropped_.empty();
        gated_.push_back(std::move(existing));
        return Status::ok();
    }

    Status choose(const Collection& existing, const std::string& name) {
        if (name == "_id_") {
            return invalid(Reason::kInvalidOptions, "cannot drop _id index");
        }
        bool found = name == "*";
        for (const auto& index : existing.indexes) {
            bool wanted = name == "*" ? !index->isId() : index->name == name;
            if (wanted && !isChosen(index)) {
                dropped_.push_back(index);
            }
            found |= wanted;
        }
        return found ? Status::ok()
                     : Status(Code::kNotFound,
                              Reason::kIndexNotFound,
                              "index not found with name [" + name + "]");
    }

    bool isChosen(const std::shared_ptr<const Index>& index) const {
        return std::find(dropped_.begin(), dropped_.end(), index) != dropped_.end();
    }

    Status addEvents(engine::Txn& txn) override {
        return addIndexEvent(txn, EventKind::kDropIndexes, *next_, dropped_);
    }

    void publish() override {
        IndexChange::publish();
        for (const auto& index : dropped_) {
            // [index.drop] store.  ORDER  release: pairs with [index.droppedRead]; before the gate
            //   opens, so before any commit that leaves the index out.
            index->state->dropped.store(1, sync::kRelease);
            core_.store.dropTree(index->treeId);
        }
    }

    std::vector<std::string> names_;
    std::vector<std::shared_ptr<const Index>> dropped_;
};

}  // namespace

Status addIndexes(CatalogCore& core,
                  const std::vector<IndexRequest>& requests,
                  Collection* collection,
                  std::vector<std::shared_ptr<Index>>* created,
                  IndexCounts* counts) {
    const auto before = static_cast<int>(collection->indexes.size());
    FRESHET_ASSIGN_OR_RETURN(auto specs, missingIndexes(*collection, requests));
    for (const bson::OwnedDocument& spec : specs) {
        const IndexRecord record{core.store.newTreeId(), false, spec};
        FRESHET_ASSIGN_OR_RETURN(auto index, makeIndex(core.store, core.compiler, record));
        collection->indexes.push_back(index);
        created->push_back(std::move(index));
    }
    *counts = {before, static_cast<int>(collection->indexes.size()), false};
    return Status::ok();
}

Status addCreateIndexesEvent(engine::Txn& txn,
                             const Collection& collection,
                             const std::vector<std::shared_ptr<Index>>& created) {
    return created.empty() ? Status::ok()
                           : addIndexEvent(txn, EventKind::kCreateIndexes, collection, created);
}

StatusOr<bool> haveIndexes(const Collection& collection,
                           const std::vector<IndexRequest>& requests) {
    FRESHET_ASSIGN_OR_RETURN(const auto missing, missingIndexes(collection, requests));
    return missing.empty();
}

std::unique_ptr<Change> makeCreateIndexes(CatalogCore& core,
                                          std::string db,
                                          std::string collection,
                                          std::vector<IndexRequest> requests,
                                          IndexCounts* counts) {
    return std::make_unique<CreateIndexes>(
        core, std::move(db), std::move(collection), std::move(requests), counts);
}

std::unique_ptr<Change> makeDropIndexes(CatalogCore& core,
                                        std::string db,
                                        std::string collection,
                                        std::vector<std::string> names,
                                        IndexCounts* counts) {
    return std::make_unique<DropIndexes>(
        core, std::move(db), std::move(collection), std::move(names), counts);
}

}  // namespace freshet::catalog
