// SPDX-License-Identifier: Apache-2.0
/// Renames a collection, replacing another one if requested. One commit record removes the old name
/// and adds the new one, so a crash leaves one of the two.
#include "freshet/catalog/collection/changes.h"
#include "freshet/catalog/collection/make.h"
#include "freshet/catalog/names/record.h"
#include "freshet/catalog/state/state.h"
#include "freshet/catalog/writable_names.h"

#include <algorithm>

namespace freshet::catalog {
namespace {

constexpr uint8_t kUuidSubtype = 4;

class RenameCollection final : public DefinitionChange {
public:
    RenameCollection(CatalogCore& core, RenameRequest request)
        : DefinitionChange(core), request_(std::move(request)) {}
    ~RenameCollection() override { giveUp(); }

private:
    Status prepare() override {
        const RenameRequest& r = request_;
        FRESHET_RETURN_IF_ERROR(checkWritable(r.toDb, r.toCollection));
        source_ = core_.find(r.db, r.collection);
        if (source_ == nullptr) {
            return Status(Code::kNotFound,
                          Reason::kNamespaceNotFound,
                          "Source collection " + r.db + "." + r.collection + " does not exist");
        }
        if (r.db == r.toDb && r.collection == r.toCollection) {
            return invalid(Reason::kIllegalOperation, "Can't rename a collection to itself");
        }
        target_ = core_.find(r.toDb, r.toCollection);
        if (target_ != nullptr && !r.dropTarget) {
            return Status(Code::kExists, Reason::kNamespaceExists, "target namespace exists");
        }
        FRESHET_RETURN_IF_ERROR(checkDatabaseCase(*core_.names(), r.toDb));
        gated_.push_back(source_);
        if (target_ != nullptr) {
            gated_.push_back(target_);
        }
        std::sort(gated_.begin(), gated_.end(), [](const auto& a, const auto& b) {
            return a->ns() < b->ns();
        });
        return Status::ok();
    }

    /// The same trees under a new description with its own gate: writers that wait at the old gate
    /// must look the name up again.
    Status work() override {
        FRESHET_ASSIGN_OR_RETURN(renamed_,
                                 makeCollection(core_.store,
                                                core_.compiler,
                                                request_.toDb,
                                                request_.toCollection,
                                                recordOf(*source_)));
        // Relaxed both: the gate is closed, so no ids are taken; renamed_ is not published.
        renamed_->nextRecordId->store(source_->nextRecordId->load(sync::kRelaxed), sync::kRelaxed);
        return Status::ok();
    }

    Status write(engine::Txn& txn) override {
        engine::Tree& names = *source_->state->catalogTree;
        if (!hasErased_) {
            FRESHET_RETURN_IF_ERROR(txn.erase(names, catalogKey(request_.db, request_.collection)));
            hasErased_ = true;
        }
        return txn.put(
            names, catalogKey(request_.toDb, request_.toCollection), recordOf(*renamed_).encode());
    }

    Status addEvents(engine::Txn& txn) override {
        bson::Builder details;
        details.object("to").add("db", request_.toDb).add("coll", request_.toCollection);
        if (target_ != nullptr) {
            details.add("dropTarget", bson::Binary{kUuidSubtype, target_->uuid});
        }
        const bson::OwnedDocument held(details.finish());
        return addDefinitionEvent(txn, EventKind::kRename, *source_, held.view());
    }

    void publish() override {
        makeCurrent(renamed_, since_);
        core_.noteRemoval(since_);
        core_.publish([&](NameMap* map) {
            map->erase(request_.db, request_.collection);
            map->set(renamed_);
        });
        source_->gate->retire();
        if (target_ != nullptr) {
            target_->gate->retire();
            dropTrees(core_.store, *target_);
        }
    }

    const RenameRequest request_;
    CollectionRef source_;
    CollectionRef target_;  // null if the new name is free
    std::shared_ptr<Collection> renamed_;
    bool hasErased_ = false;
};

/// Replaces a collection's description by one with other options.
class ModifyCollection final : public DefinitionChange {
public:
    ModifyCollection(CatalogCore& core,
                     std::string db,
                     std::string name,
                     std::function<Status(const Collection&, CollectionEdit*)> edit)
        : DefinitionChange(core),
          db_(std::move(db)),
          name_(std::move(name)),
          edit_(std::move(edit)) {}
    ~ModifyCollection() override { giveUp(); }

private:
    Status prepare() override {
        existing_ = core_.find(db_, name_);
        if (existing_ == nullptr) {
            return Status(Code::kNotFound,
                          Reason::kNamespaceNotFound,
                          "ns does not exist: " + db_ + "." + name_);
        }
        CollectionEdit edit;
        FRESHET_RETURN_IF_ERROR(edit_(*existing_, &edit));
        gated_.push_back(existing_);
        next_ = std::make_shared<Collection>(*existing_);
        if (edit.options.has_value()) {
            next_->options = std::move(*edit.options);
            FRESHET_RETURN_IF_ERROR(compileValidator(core_.compiler, next_.get()));
        }
        for (const auto& [name, spec] : edit.indexSpecs) {
            FRESHET_RETURN_IF_ERROR(replaceIndex(name, spec));
        }
        return Status::ok();
    }

    Status replaceIndex(const std::string& name, const bson::OwnedDocument& spec) {
        for (auto& index : next_->indexes) {
            if (index->name == name) {
                IndexRecord record{index->treeId, index->isMultikey(), spec};
                FRESHET_ASSIGN_OR_RETURN(auto changed,
                                         makeIndex(core_.store, core_.compiler, record));
                changed->state = index->state;  // the entries stay, and so do the live parts
                index = std::move(changed);
                return Status::ok();
            }
        }
        return Status(Code::kNotFound, Reason::kIndexNotFound, "cannot find index " + name);
    }

    Status write(engine::Txn& txn) override {
        return txn.put(
            *next_->state->catalogTree, catalogKey(db_, name_), recordOf(*next_).encode());
    }

    Status addEvents(engine::Txn& txn) override {
        bson::Builder details;
        details.add("options", next_->options.view());
        details.add("optionsBefore", existing_->options.view());
        addChangedIndexes("indexes", *next_, &details);
        addChangedIndexes("indexesBefore", *existing_, &details);
        const bson::OwnedDocument held(details.finish());
        return addDefinitionEvent(txn, EventKind::kModify, *next_, held.view());
    }

    /// The specifications that `of` has of the indexes that change.
    void addChangedIndexes(std::string_view name, const Collection& of, bson::Builder* out) {
        bson::Builder specs = out->array(name);
        for (size_t i = 0; i < of.indexes.size(); ++i) {
            if (next_->indexes[i] != existing_->indexes[i]) {
                specs.push(of.indexes[i]->spec.view());
            }
        }
    }

    void publish() override {
        makeCurrent(next_, since_);
        core_.publish([&](NameMap* map) { map->set(next_); });
    }

    const std::string db_;
    const std::string name_;
    const std::function<Status(const Collection&, CollectionEdit*)> edit_;
    CollectionRef existing_;
    std::shared_ptr<Collection> next_;
};

}  // namespace

std::unique_ptr<Change> makeRenameCollection(CatalogCore& core, RenameRequest request) {
    return std::make_unique<RenameCollection>(core, std::move(request));
}

std::unique_ptr<Change> makeModifyCollection(
    CatalogCore& core,
    std::string db,
    std::string collection,
    std::function<Status(const Collection&, CollectionEdit*)> edit) {
    return std::make_unique<ModifyCollection>(
        core, std::move(db), std::move(collection), std::move(edit));
}

}  // namespace freshet::catalog
