// SPDX-License-Identifier: Apache-2.0
/// Catalog: open, look-up and publication of descriptions.
#include "freshet/catalog/catalog.h"

#include "freshet/base/assert.h"
#include "freshet/catalog/collection/blocking.h"
#include "freshet/catalog/collection/changes.h"
#include "freshet/catalog/collection/last_records.h"
#include "freshet/catalog/collection/make.h"
#include "freshet/catalog/names/catalog_impl.h"
#include "freshet/catalog/names/record.h"
#include "freshet/catalog/state/state.h"
#include "freshet/catalog/writable_names.h"

#include <algorithm>
#include <set>

namespace freshet::catalog {

namespace {

constexpr size_t kThreadsMax = 65'536;  // participant indexes are less than this
constexpr size_t kSeenMax = 4'096;      // collections in one thread's cache

}  // namespace

std::vector<bool> Index::descending() const {
    std::vector<bool> result;
    for (const KeyField& field : fields) {
        result.push_back(field.descending);
    }
    return result;
}

bool Index::isMultikey() const {
    // [index.multikeyRead] load.  ORDER  relaxed: see INV-catalog-3 at IndexState.
    return state->multikey.load(sync::kRelaxed) != 0;
}

bool Index::isDropped() const {
    // [index.droppedRead] load.  ORDER  acquire: pairs with [index.drop].
    return state->dropped.load(sync::kAcquire) != 0;
}

bool Collection::isDropped() const {
    return gate->isRetired();
}

const Index* Collection::findIndex(std::string_view indexName) const {
    for (const auto& index : indexes) {
        if (index->name == indexName) {
            return index.get();
        }
    }
    return nullptr;
}

namespace {

Status snapshotUnavailable(uint64_t since, uint64_t readTs) {
    return Status(Code::kConflict,
                  Reason::kSnapshotUnavailable,
                  "Unable to read from a snapshot due to pending collection catalog changes; "
                  "please retry the operation. Snapshot timestamp is " +
                      std::to_string(readTs) + ". Collection minimum timestamp is " +
                      std::to_string(since));
}

}  // namespace

Status definitionChanged(const Collection& current, uint64_t readTs) {
    return snapshotUnavailable(current.since, readTs);
}

CollectionRef newerDescription(const Collection& collection) {
    const CollectionState& state = *collection.state;
    return state.currentRevision == collection.revision ? nullptr : state.current.lock();
}

Status ChangeLock::acquire(sync::WaitToken* token) {
    std::lock_guard lock(mutex_);
    if (!held_) {
        held_ = true;
        return Status::ok();
    }
    *token = waiting_.emplace_back(sync::WaitToken::create());
    return Status::wouldBlock();
}

void ChangeLock::release() {
    std::lock_guard lock(mutex_);
    dcheck(held_);
    held_ = false;
    for (const sync::WaitToken& token : waiting_) {
        token.complete();
    }
    waiting_.clear();
}

CatalogCore::CatalogCore(engine::Store& s, PredicateCompiler c)
    : store(s),
      compiler(std::move(c)),
      current_(std::make_shared<NameMap>()),
      caches_(kThreadsMax) {}

std::shared_ptr<const NameMap> CatalogCore::names() const {
    std::lock_guard lock(mutex_);
    return current_;
}

void CatalogCore::publish(const std::function<void(NameMap*)>& edit) {
    auto next = std::make_shared<NameMap>(*names());
    edit(next.get());
    std::lock_guard lock(mutex_);
    current_ = std::move(next);
    // [names.publish] store  tells threads that their copies are old.
    //   ORDER  release: pairs with [names.check]. Relaxed load: only the change lock's holder
    //          writes, and that is us.
    version_.store(version_.load(sync::kRelaxed) + 1, sync::kRelease);
}

CatalogCore::Cache& CatalogCore::cacheOfThread() {
    std::unique_ptr<Cache>& cell = caches_[store.epochs().here().index()];
    if (cell == nullptr) {
        cell = std::make_unique<Cache>();
    }
    // [names.check] load.  ORDER  acquire: pairs with [names.publish]; what was published before
    //   our caller heard of it is therefore visible to us.
    if (cell->version != version_.load(sync::kAcquire)) {
        std::lock_guard lock(mutex_);
        cell->seen.clear();
        cell->names = current_;
        // Relaxed: written under the mutex, which we hold.
        cell->version = version_.load(sync::kRelaxed);
    }
    return *cell;
}

CollectionRef CatalogCore::find(std::string_view db, std::string_view collection) {
    Cache& cache = cacheOfThread();
    std::string ns;
    ns.reserve(db.size() + collection.size() + 1);
    ns.append(db).append(1, '.').append(collection);
    if (auto seen = cache.seen.find(ns); seen != cache.seen.end()) {
        return seen->second;
    }
    CollectionRef shared = cache.names->find(db, collection);
    if (shared == nullptr || cache.seen.size() >= kSeenMax) {
        return shared;
    }
    const Collection* raw = shared.get();
    auto holder = std::make_shared<CollectionRef>(std::move(shared));
    return cache.seen.emplace(std::move(ns), CollectionRef(std::move(holder), raw)).first->second;
}

Status CatalogCore::readCollection(ByteView key,
                                   ByteView value,
                                   LastRecords* lastRecords,
                                   NameMap* map) {
    std::string db;
    std::string name;
    if (!splitCatalogKey(key, &db, &name)) {
        return Status(Code::kCorruption, "catalog tree: unknown key");
    }
    auto record = CollectionRecord::decode(value);
    if (!record.isOk()) {
        return record.status().withContext(db + "." + name);
    }
    FRESHET_ASSIGN_OR_RETURN(auto collection, makeCollection(store, compiler, db, name, *record));
    FRESHET_RETURN_IF_ERROR(lastRecords->find(collection));
    makeCurrent(collection, 0);
    map->set(std::move(collection));
    return Status::ok();
}

Status CatalogCore::readAll() {
    NameMap map;
    LastRecords lastRecords(store);
    engine::Txn txn(store);
    engine::Cursor cursor(txn, store.tree(engine::kCatalogTree));
    Status status = untilDone(txn, [&] { return cursor.first(); });
    while (status.isOk() && cursor.valid()) {
        FRESHET_RETURN_IF_ERROR(readCollection(cursor.key(), cursor.value(), &lastRecords, &map));
        status = untilDone(txn, [&] { return cursor.next(); });
    }
    FRESHET_RETURN_IF_ERROR(status);
    FRESHET_RETURN_IF_ERROR(lastRecords.finish());

    std::set<engine::TreeId> named{engine::kCatalogTree};
    map.forEach([&](const CollectionRef& collection) {
        named.insert(collection->treeId);
        for (const auto& index : collection->indexes) {
            named.insert(index->treeId);
        }
    });
    store.reserveTreeIds(*named.rbegin());
    for (engine::TreeId id : store.treeIds()) {
        if (!named.contains(id)) {
            store.dropTree(id);  // of a change that never committed, or of something dropped
        }
    }
    publish([&](NameMap* next) { *next = std::move(map); });
    return Status::ok();
}

uint64_t CatalogCore::version() const {
    // [names.version] load.  ORDER  acquire: pairs with [names.publish].
    return version_.load(sync::kAcquire);
}

uint64_t CatalogCore::snapshotNow() {
    return engine::Txn(store).readTs();
}

void CatalogCore::beginPublication() {
    // [names.begin] store.  ORDER  release: see unpublished_.
    unpublished_.store(snapshotNow() + 1, sync::kRelease);
}

void CatalogCore::endPublication() {
    // [names.end] store.  ORDER  release: see unpublished_.
    unpublished_.store(0, sync::kRelease);
}

bool CatalogCore::mayBeAhead(uint64_t readTs) const {
    // [names.ahead] load.  ORDER  acquire: see unpublished_.
    const uint64_t from = unpublished_.load(sync::kAcquire);
    return from != 0 && readTs >= from;
}

void CatalogCore::noteRemoval(uint64_t since) {
    // [names.remove] store.  ORDER  relaxed: see lastRemoval_.
    lastRemoval_.store(since, sync::kRelaxed);
}

uint64_t CatalogCore::lastRemoval() const {
    // [names.removed] load.  ORDER  relaxed: see lastRemoval_.
    return lastRemoval_.load(sync::kRelaxed);
}

struct Catalog::Impl {
    Impl(engine::Store& store, PredicateCompiler compiler) : core(store, std::move(compiler)) {}
    CatalogCore core;
};

Catalog::Catalog(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Catalog::~Catalog() = default;

StatusOr<std::unique_ptr<Catalog>> Catalog::open(engine::Store& store, PredicateCompiler compiler) {
    auto impl = std::make_unique<Impl>(store, std::move(compiler));
    FRESHET_RETURN_IF_ERROR(impl->core.readAll());
    return std::unique_ptr<Catalog>(new Catalog(std::move(impl)));
}

CollectionRef Catalog::find(std::string_view db, std::string_view collection) const {
    return impl_->core.find(db, collection);
}

StatusOr<CollectionRef> Catalog::findAsOf(std::string_view db,
                                          std::string_view collection,
                                          uint64_t readTs) const {
    if (impl_->core.mayBeAhead(readTs)) {
        return snapshotUnavailable(readTs, readTs);
    }
    CollectionRef found = impl_->core.find(db, collection);
    const uint64_t since = found == nullptr ? impl_->core.lastRemoval() : found->since;
    if (since > readTs) {
        return snapshotUnavailable(since, readTs);
    }
    return found;
}

StatusOr<std::shared_ptr<Collection>> Catalog::makePending(engine::Txn& txn,
                                                           const std::string& db,
                                                           const std::string& collection,
                                                           const bson::OwnedDocument& options) {
    FRESHET_RETURN_IF_ERROR(checkWritable(db, collection));
    FRESHET_ASSIGN_OR_RETURN(auto made, makeEmptyCollection(impl_->core, db, collection, options));
    makeCurrent(made, 0);
    made->state->isPending = true;
    if (Status status = addCreateEvent(txn, *made); !status.isOk()) {
        dropPending(*made);
        return status;
    }
    return made;
}

StatusOr<std::shared_ptr<Collection>> Catalog::addPendingIndexes(
    engine::Txn& txn,
    const Collection& pending,
    const std::vector<IndexRequest>& requests,
    IndexCounts* counts) {
    dcheck(pending.state->isPending);
    auto next = std::make_shared<Collection>(pending);
    std::vector<std::shared_ptr<Index>> created;
    Status status = addIndexes(impl_->core, requests, next.get(), &created, counts);
    if (status.isOk()) {
        status = addCreateIndexesEvent(txn, *next, created);
    }
    if (!status.isOk()) {
        for (const auto& index : created) {
            impl_->core.store.dropTree(index->treeId);
        }
        return status;
    }
    makeCurrent(next, 0);
    return next;
}

void Catalog::dropPending(const Collection& collection) {
    dropTrees(impl_->core.store, collection);
}

std::unique_ptr<Change> Catalog::commitTransaction(TransactionCommit commit) {
    return makeTransactionCommit(impl_->core, std::move(commit));
}

std::vector<CollectionRef> Catalog::collections(std::string_view db) const {
    return impl_->core.names()->collections(db);
}

std::vector<std::string> Catalog::databases() const {
    return impl_->core.names()->databases();
}

uint64_t Catalog::version() const {
    return impl_->core.version();
}

engine::Store& Catalog::store() const {
    return impl_->core.store;
}

std::unique_ptr<Change> Catalog::createCollection(std::string db,
                                                  std::string collection,
                                                  bson::OwnedDocument options,
                                                  bool ifMissing) {
    return makeCreateCollection(
        impl_->core, std::move(db), std::move(collection), std::move(options), ifMissing);
}

std::unique_ptr<Change> Catalog::dropCollection(std::string db, std::string collection) {
    return makeDropCollection(impl_->core, std::move(db), std::move(collection));
}

std::unique_ptr<Change> Catalog::dropDatabase(std::string db) {
    return makeDropDatabase(impl_->core, std::move(db));
}

std::unique_ptr<Change> Catalog::createIndexes(std::string db,
                                               std::string collection,
                                               std::vector<IndexRequest> requests,
                                               IndexCounts* counts) {
    return makeCreateIndexes(
        impl_->core, std::move(db), std::move(collection), std::move(requests), counts);
}

std::unique_ptr<Change> Catalog::dropIndexes(std::string db,
                                             std::string collection,
                                             std::vector<std::string> names,
                                             IndexCounts* counts) {
    return makeDropIndexes(
        impl_->core, std::move(db), std::move(collection), std::move(names), counts);
}

std::unique_ptr<Change> Catalog::renameCollection(RenameRequest request) {
    return makeRenameCollection(impl_->core, std::move(request));
}

std::unique_ptr<Change> Catalog::modifyCollection(
    std::string db,
    std::string collection,
    std::function<Status(const Collection& current, CollectionEdit* edit)> edit) {
    return makeModifyCollection(impl_->core, std::move(db), std::move(collection), std::move(edit));
}

}  // namespace freshet::catalog
