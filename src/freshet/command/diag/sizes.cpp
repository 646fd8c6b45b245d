// SPDX-License-Identifier: Apache-2.0
/// dbStats, collStats, dataSize and top: sizes and usage.
#include "freshet/command/diag/sizes.h"

#include "freshet/bson/count.h"
#include "freshet/command/access/authorize.h"
#include "freshet/command/oplog/oplog_reads.h"
#include "freshet/command/run/tables.h"
#include "freshet/sync/epoch.h"

#include <algorithm>
#include <optional>

namespace freshet::command {
namespace {

constexpr int kStepsPerTurn = 256;

/// One tree's walk, as an operation to be driven.
class TreeWalk {
public:
    TreeWalk(engine::Store& store, engine::Txn& txn, engine::TreeRef tree)
        : store_(store), txn_(txn), cursor_(txn, std::move(tree)) {}

    Status run() {
        sync::Slice slice(store_.epochs());
        for (int steps = 0; steps < kStepsPerTurn; ++steps) {
            Status status = hasBegun_ ? cursor_.next() : cursor_.first();
            if (status.isWouldBlock()) {
                token_ = txn_.token();
            }
            FRESHET_RETURN_IF_ERROR(status);
            hasBegun_ = true;
            if (!cursor_.valid()) {
                return Status::ok();
            }
            ++count;
            valueBytes += static_cast<int64_t>(cursor_.value().size());
        }
        token_ = sync::WaitToken::completed();
        return Status::wouldBlock();
    }
    const sync::WaitToken& token() const { return token_; }

    int64_t count = 0;
    int64_t valueBytes = 0;

private:
    engine::Store& store_;
    engine::Txn& txn_;
    engine::Cursor cursor_;
    sync::WaitToken token_;
    bool hasBegun_ = false;
};

/// A tree's size in the data file. A tree that has not been written yet counts one block, like an
/// empty collection's file in mongod.
int64_t storedBytes(const engine::Store& store, engine::TreeId tree) {
    constexpr uint64_t kLeast = 4'096;
    return static_cast<int64_t>(std::max(store.storedBytes(tree), kLeast));
}

void addIndexSizes(const CollectionSizes& sizes, int64_t scale, bson::Builder* reply) {
    reply->add("nindexes", static_cast<int32_t>(sizes.indexes.size()));
    reply->array("indexBuilds");
    bson::addCount(reply, "totalIndexSize", sizes.indexBytes() / scale);
    bson::addCount(reply, "totalSize", (sizes.storedBytes + sizes.indexBytes()) / scale);
    auto list = reply->object("indexSizes");
    for (const CollectionSizes::OfIndex& index : sizes.indexes) {
        bson::addCount(&list, index.name, index.bytes / scale);
    }
}

sync::Task<Status> runCollStats(Invocation& call) {
    StatusOr<std::string> name = call.collectionName();
    FRESHET_CO_RETURN_IF_ERROR(name.status());
    Fields fields(call.body(), "collStats");
    StatusOr<int64_t> scale = scaleOf(&fields);
    FRESHET_CO_RETURN_IF_ERROR(scale.status());
    if (isOplog(call.services, call.generic.db, *name)) {
        call.reply.add("ns", call.ns(*name));
        addOplogStats(call.services, *scale, &call.reply);
        co_return Status::ok();
    }
    CollectionSizes sizes;
    if (auto collection = call.services.catalog.find(call.generic.db, *name)) {
        StatusOr<CollectionSizes> measured = co_await measure(call, collection, true);
        FRESHET_CO_RETURN_IF_ERROR(measured.status());
        sizes = std::move(*measured);
    }
    call.reply.add("ns", call.ns(*name));
    addStorageStats(sizes, *scale, &call.reply);
    co_return Status::ok();
}

sync::Task<Status> runDbStats(Invocation& call) {
    Fields fields(call.body(), "dbStats");
    StatusOr<int64_t> scale = scaleOf(&fields);
    FRESHET_CO_RETURN_IF_ERROR(scale.status());
    CollectionSizes sum;
    int64_t indexes = 0;
    int64_t indexBytes = 0;
    const auto collections = call.services.catalog.collections(call.generic.db);
    for (const catalog::CollectionRef& collection : collections) {
        StatusOr<CollectionSizes> sizes = co_await measure(call, collection, true);
        if (sizes.status().code() == Code::kCancelled && collection->isDropped()) {
            continue;
        }
        FRESHET_CO_RETURN_IF_ERROR(sizes.status());
        sum.count += sizes->count;
        sum.bytes += sizes->bytes;
        sum.storedBytes += sizes->storedBytes;
        indexes += static_cast<int64_t>(sizes->indexes.size());
        indexBytes += sizes->indexBytes();
    }
    bson::Builder& reply = call.reply;
    reply.add("db", call.generic.db).add("collections", static_cast<int64_t>(collections.size()));
    reply.add("views", int64_t{0}).add("objects", sum.count);
    const double average =
        sum.count == 0 ? 0.0 : static_cast<double>(sum.bytes) / static_cast<double>(sum.count);
    const auto scaled = [&](int64_t bytes) {
        return static_cast<double>(bytes) / static_cast<double>(*scale);
    };
    reply.add("avgObjSize", average).add("dataSize", scaled(sum.bytes));
    reply.add("storageSize", scaled(sum.storedBytes)).add("indexes", indexes);
    reply.add("indexSize", scaled(indexBytes))
        .add("totalSize", scaled(sum.storedBytes + indexBytes));
    reply.add("scaleFactor", *scale);
    co_return Status::ok();
}

sync::Task<Status> runDataSize(Invocation& call) {
    Fields fields(call.body(), "dataSize");
    const std::string ns(fields.requiredString("dataSize"));
    fields.boolean("estimate", false);
    fields.refuse({"keyPattern", "min", "max", "maxSize", "maxObjects"});
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    const size_t dot = ns.find('.');
    if (dot == std::string::npos) {
        co_return invalid(Reason::kInvalidNamespace, "Invalid namespace specified '" + ns + "'");
    }
    const std::string db = ns.substr(0, dot);
    const std::string name = ns.substr(dot + 1);
    FRESHET_CO_RETURN_IF_ERROR(catalog::checkNames(db, name));
    FRESHET_CO_RETURN_IF_ERROR(authorize(call, Action::kFind, db, name));
    CollectionSizes sizes;
    if (auto collection = call.services.catalog.find(db, name)) {
        StatusOr<CollectionSizes> measured = co_await measure(call, collection, false);
        FRESHET_CO_RETURN_IF_ERROR(measured.status());
        sizes = std::move(*measured);
    }
    call.reply.add("size", sizes.bytes).add("numObjects", sizes.count);
    call.reply.add("millis", int32_t{0}).add("estimate", false);
    co_return Status::ok();
}

void addEffort(std::string_view name, const Effort& effort, bson::Builder* out) {
    out->object(name)
        .add("time", static_cast<int64_t>(effort.micros))
        .add("count", static_cast<int64_t>(effort.count));
}

void addTop(const std::string& ns, const Top& top, bson::Builder* out) {
    static constexpr std::string_view kKindNames[] = {
        "insert", "queries", "update", "remove", "getmore", "commands"};
    auto entry = out->object(ns);
    addEffort("total", top.total, &entry);
    addEffort("readLock", top.of(LatencyClass::kReads), &entry);
    Effort writes = top.of(LatencyClass::kWrites);
    writes.add(top.of(LatencyClass::kCommands));
    addEffort("writeLock", writes, &entry);
    for (size_t kind = 0; kind < top.kinds.size(); ++kind) {
        addEffort(kKindNames[kind], top.kinds[kind], &entry);
    }
}

sync::Task<Status> runTop(Invocation& call) {
    auto totals = call.reply.object("totals");
    totals.add("note", "all times in microseconds");
    for (const auto& [ns, top] : call.services.statistics.top()) {
        const size_t dot = ns.find('.');
        const bool isThere =
            call.services.catalog.find(ns.substr(0, dot), ns.substr(dot + 1)) != nullptr;
        if (isThere && totals.size() < bson::kDocumentBytesMax / 2) {
            addTop(ns, top, &totals);
        }
    }
    co_return Status::ok();
}

}  // namespace

StatusOr<int64_t> scaleOf(Fields* fields) {
    const int64_t scale = fields->integer("scale", 1);
    FRESHET_RETURN_IF_ERROR(fields->status());
    return scale >= 1 ? StatusOr<int64_t>(scale)
                      : badValue("BSON field 'scale' value must be >= 1, actual value '" +
                                 std::to_string(scale) + "'");
}

void addStorageStats(const CollectionSizes& sizes, int64_t scale, bson::Builder* out) {
    bson::addCount(out, "size", sizes.bytes / scale);
    bson::addCount(out, "count", sizes.count);
    if (sizes.count > 0) {
        bson::addCount(out, "avgObjSize", sizes.bytes / sizes.count);
    }
    out->add("numOrphanDocs", int32_t{0});
    bson::addCount(out, "storageSize", sizes.storedBytes / scale);
    out->add("freeStorageSize", int32_t{0}).add("capped", false);
    addIndexSizes(sizes, scale, out);
    bson::addCount(out, "scaleFactor", scale);
}

int64_t CollectionSizes::indexBytes() const {
    int64_t sum = 0;
    for (const OfIndex& index : indexes) {
        sum += index.bytes;
    }
    return sum;
}

sync::Task<StatusOr<CollectionSizes>> measure(Invocation& call,
                                              catalog::CollectionRef collection,
                                              bool withIndexes) {
    CollectionSizes sizes;
    engine::Store& store = call.services.store;
    std::optional<engine::Txn> txn;
    txn.emplace(store);
    TreeWalk records(store, *txn, collection->records);
    Status status = co_await drive(call, records);
    sizes.count = records.count;
    sizes.bytes = records.valueBytes;
    sizes.storedBytes = storedBytes(store, collection->treeId);
    if (withIndexes) {
        for (const auto& index : collection->indexes) {
            sizes.indexes.push_back({index->name, storedBytes(store, index->treeId)});
        }
    }
    if (!status.isOk()) {
        co_return status;
    }
    if (collection->isDropped()) {
        co_return Status(
            Code::kCancelled, Reason::kQueryPlanKilled, collection->ns() + " was dropped");
    }
    co_return sizes;
}

int64_t storedBytes(engine::Store& store, const catalog::Collection& collection) {
    int64_t sum = storedBytes(store, collection.treeId);
    for (const auto& index : collection.indexes) {
        sum += storedBytes(store, index->treeId);
    }
    return sum;
}

CommandTable sizeCommands() {
    return {
        {
            .name = "dbStats",
            .aliases = {"dbstats"},
            .help = "how much a database holds",
            .fields = {"scale", "freeStorage"},
            .handler = runDbStats,
            .access = Access::onDatabase(Action::kDbStats),
            .readOnly = true,
        },
        {
            .name = "collStats",
            .aliases = {"collstats"},
            .help = "how much a collection holds",
            .fields = {"scale", "verbose"},
            .handler = runCollStats,
            .access = Access::onCollection(Action::kCollStats),
            .readOnly = true,
        },
        {
            .name = "dataSize",
            .aliases = {"datasize"},
            .help = "the documents' bytes of a collection",
            .fields = {"keyPattern", "min", "max", "estimate", "maxSize", "maxObjects"},
            .handler = runDataSize,
            .access = Access::byHandler(),
            .readOnly = true,
        },
        {
            .name = "top",
            .aliases = {},
            .help = "how long collections have been used for what",
            .fields = {},
            .handler = runTop,
            .access = Access::onCluster(Action::kTop),
            .adminOnly = true,
            .readOnly = true,
        },
    };
}

}  // namespace freshet::command
