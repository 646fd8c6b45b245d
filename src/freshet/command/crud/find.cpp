// SPDX-License-Identifier: Apache-2.0
/// find, count and distinct: queries on one collection.
#include "freshet/command/crud/find.h"

#include "freshet/bson/count.h"
#include "freshet/bson/path.h"
#include "freshet/command/crud/write_batch.h"
#include "freshet/command/oplog/oplog_reads.h"
#include "freshet/command/run/tables.h"

#include <limits>

namespace freshet::command {
namespace {

Status checkTailable(const FindCommand& find) {
    if (find.firstBatch.awaitsData && !find.firstBatch.isTailable) {
        return invalid(Reason::kFailedToParse,
                       "Cannot set 'awaitData' without also setting 'tailable'");
    }
    if (!find.firstBatch.isTailable) {
        return Status::ok();
    }
    const bson::Document sort = find.request.sort.view();
    const bool isNatural = sort.fieldCount() == 1 && sort.find("$natural").toInt64() == 1;
    if (!sort.isEmpty() && !isNatural) {
        return badValue("cannot use tailable option with a sort other than {$natural: 1}");
    }
    return find.firstBatch.isSingle
               ? badValue("cannot use tailable option with the 'singleBatch' option")
               : Status::ok();
}

}  // namespace

StatusOr<FindCommand> parseFind(const BodyIndex& body) {
    Fields fields(body, "find");
    StatusOr<FindCommand> parsed = FindCommand();  // constructed in place: it is large
    FindCommand& find = *parsed;
    fields.object("filter", &find.request.filter);
    fields.object("projection", &find.request.projection);
    fields.object("sort", &find.request.sort);
    find.request.hint = fields.hint();
    find.request.skip = fields.integer("skip", 0, 0);
    find.request.limit = fields.integer("limit", 0, 0);
    find.request.allowDiskUse = fields.maybeBoolean("allowDiskUse");
    find.firstBatch.batchSize = fields.integer("batchSize", kFirstBatchDocuments, 0);
    find.firstBatch.isSingle = fields.boolean("singleBatch", false);
    find.firstBatch.neverTimesOut = fields.boolean("noCursorTimeout", false);
    fields.boolean("allowPartialResults", false);
    fields.boolean("oplogReplay", false);
    fields.object("min", &find.request.min);
    fields.object("max", &find.request.max);
    find.request.returnsKey = fields.boolean("returnKey", false);
    find.request.showsRecordId = fields.boolean("showRecordId", false);
    find.request.variables = letOf(&fields);
    find.firstBatch.isTailable = fields.boolean("tailable", false);
    find.firstBatch.awaitsData = fields.boolean("awaitData", false);
    fields.fail(checkTailable(find));
    fields.refuseCollation();
    if (!fields.status().isOk()) {
        parsed = fields.status();
    }
    return parsed;
}

StatusOr<query::FindRequest> parseCount(bson::Document body) {
    Fields fields(body, "count");
    query::FindRequest request;
    request.filter = bson::OwnedDocument(fields.object("query"));
    request.hint = fields.hint();
    request.skip = fields.integer("skip", 0, 0);
    const int64_t limit = fields.integer("limit", 0, std::numeric_limits<int64_t>::min() + 1);
    request.limit = limit < 0 ? -limit : limit;  // old drivers asked for a single batch this way
    request.needsDocuments = false;
    fields.refuseCollation();
    FRESHET_RETURN_IF_ERROR(fields.status());
    return request;
}

StatusOr<DistinctCommand> parseDistinct(bson::Document body) {
    Fields fields(body, "distinct");
    DistinctCommand distinct;
    distinct.key = std::string(fields.requiredString("key"));
    distinct.request.filter = bson::OwnedDocument(fields.object("query"));
    distinct.request.hint = fields.hint();
    fields.refuseCollation();
    FRESHET_RETURN_IF_ERROR(fields.status());
    FRESHET_RETURN_IF_ERROR(bson::checkPathLength(distinct.key));
    return distinct;
}

namespace {

sync::Task<Status> runFind(Invocation& call) {
    StatusOr<std::string> collection = call.collectionName();
    FRESHET_CO_RETURN_IF_ERROR(collection.status());
    StatusOr<FindCommand> find = parseFind(call.index);
    FRESHET_CO_RETURN_IF_ERROR(find.status());
    FirstBatch first = std::move(find->firstBatch);
    first.ns = call.ns(*collection);
    if (isOplog(call.services, call.generic.db, *collection)) {
        auto entries = co_await findInOplog(call, std::move(find->request), first.isTailable);
        FRESHET_CO_RETURN_IF_ERROR(entries.status());
        co_return co_await replyWithFirstBatch(call, std::move(*entries), std::move(first));
    }
    StatusOr<catalog::CollectionRef> found = call.find(call.generic.db, *collection);
    FRESHET_CO_RETURN_IF_ERROR(found.status());
    find->request.spill = &call.services.spill;
    if (first.isTailable && *found != nullptr) {
        co_return badValue("error processing query: ns=" + first.ns +
                           ": tailable cursor requested on non capped collection");
    }
    StatusOr<std::unique_ptr<query::QueryCursor>> cursor =
        query::makeFind(call.unit(), std::move(*found), std::move(find->request));
    FRESHET_CO_RETURN_IF_ERROR(cursor.status());
    co_return co_await replyWithFirstBatch(call, std::move(*cursor), std::move(first));
}

/// Drives an operation to its end; then, if the read concern requires it, waits until everything
/// that it may have seen is durable.
template <typename Op>
sync::Task<Status> driveRead(Invocation& call, Op& op) {
    Status status = co_await drive(call, op);
    call.stats.work = op.work();
    if (status.isOk() && call.generic.needsDurableRead) {
        journal::Journal& journal = call.services.store.journal();
        status = co_await waitUntilDurable(journal, journal.tailLsn());
    }
    co_return status;
}

sync::Task<Status> runCount(Invocation& call) {
    StatusOr<std::string> collection = call.collectionName();
    FRESHET_CO_RETURN_IF_ERROR(collection.status());
    StatusOr<query::FindRequest> request = parseCount(call.body());
    FRESHET_CO_RETURN_IF_ERROR(request.status());
    if (isOplog(call.services, call.generic.db, *collection)) {
        StatusOr<int64_t> count = co_await countInOplog(call, std::move(*request));
        FRESHET_CO_RETURN_IF_ERROR(count.status());
        bson::addCount(&call.reply, "n", *count);
        co_return Status::ok();
    }
    StatusOr<std::unique_ptr<query::CountOp>> op =
        query::CountOp::make(call.services.store,
                             call.services.catalog.find(call.generic.db, *collection),
                             std::move(*request));
    FRESHET_CO_RETURN_IF_ERROR(op.status());
    Status status = co_await driveRead(call, **op);
    FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    bson::addCount(&call.reply, "n", (*op)->count());
    co_return Status::ok();
}

sync::Task<Status> runDistinct(Invocation& call) {
    StatusOr<std::string> collection = call.collectionName();
    FRESHET_CO_RETURN_IF_ERROR(collection.status());
    StatusOr<DistinctCommand> distinct = parseDistinct(call.body());
    FRESHET_CO_RETURN_IF_ERROR(distinct.status());
    if (isOplog(call.services, call.generic.db, *collection)) {
        co_return Status(Code::kUnsupported,
                         "distinct is not supported on " + call.ns(*collection));
    }
    StatusOr<catalog::CollectionRef> found = call.find(call.generic.db, *collection);
    FRESHET_CO_RETURN_IF_ERROR(found.status());
    StatusOr<std::unique_ptr<query::DistinctOp>> op = query::DistinctOp::make(
        call.unit(), std::move(*found), std::move(distinct->request), distinct->key);
    FRESHET_CO_RETURN_IF_ERROR(op.status());
    Status status = co_await driveRead(call, **op);
    FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    const std::string values = (*op)->takeValues();
    call.reply.addArray("values", bson::Document(values.data()));
    if (call.snapshot != nullptr) {
        call.reply.add("atClusterTime", bson::Timestamp{call.snapshot->clusterTime});
    }
    co_return Status::ok();
}

}  // namespace

CommandTable findCommands() {
    return {
        {
            .name = "find",
            .aliases = {},
            .help = "query for documents",
            .fields =
                {"filter",   "projection", "sort",         "hint",         "skip",
                 "limit",    "batchSize",  "singleBatch",  "allowDiskUse", "noCursorTimeout",
                 "tailable", "awaitData",  "collation",    "let",          "min",
                 "max",      "returnKey",  "showRecordId", "oplogReplay",  "allowPartialResults"},
            .handler = runFind,
            .access = Access::onCollection(Action::kFind),
            .kind = OpKind::kQuery,
            .readOnly = true,
            .inApiVersion1 = true,
            .takesReadConcern = true,
            .takesSnapshots = true,
            .inTransactions = InTransactions::kStatement,
            .scripts = Command::Scripts::kWhenMentioned,
        },
        {
            .name = "count",
            .aliases = {},
            .help = "count documents in a collection",
            .fields = {"query", "limit", "skip", "hint", "collation", "fields"},
            .handler = runCount,
            .access = Access::onCollection(Action::kFind),
            .readOnly = true,
            .inApiVersion1 = true,
            .takesReadConcern = true,
            .scripts = Command::Scripts::kWhenMentioned,
        },
        {
            .name = "distinct",
            .aliases = {},
            .help = "the distinct values of a field",
            .fields = {"key", "query", "hint", "collation"},
            .handler = runDistinct,
            .access = Access::onCollection(Action::kFind),
            .readOnly = true,
            .takesReadConcern = true,
            .takesSnapshots = true,
            .inTransactions = InTransactions::kStatement,
            .scripts = Command::Scripts::kWhenMentioned,
        },
    };
}

}  // namespace freshet::command
