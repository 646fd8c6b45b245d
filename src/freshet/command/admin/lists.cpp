// SPDX-License-Identifier: Apache-2.0
/// listCollections and listDatabases.
#include "freshet/command/access/authorize.h"
#include "freshet/command/crud/cursor_reply.h"
#include "freshet/command/diag/sizes.h"
#include "freshet/command/oplog/oplog_reads.h"
#include "freshet/command/run/tables.h"
#include "freshet/query/match.h"

#include <algorithm>

namespace freshet::command {
namespace {

bson::OwnedDocument describe(const catalog::Collection& collection, bool nameOnly) {
    bson::Builder out;
    out.add("name", collection.name).add("type", "collection");
    if (!nameOnly) {
        out.add("options", collection.options.view());
        {
            auto info = out.object("info");
            info.add("readOnly", false);
            info.add("uuid", bson::Binary{4, collection.uuid});
        }
        out.add("idIndex", collection.indexes.front()->spec.view());
    }
    return bson::OwnedDocument(out.finish());
}

sync::Task<Status> runListCollections(Invocation& call) {
    Fields fields(call.body(), "listCollections");
    const bool nameOnly = fields.boolean("nameOnly", false);
    const bool onlyAuthorized = fields.boolean("authorizedCollections", false) && nameOnly;
    const bson::Document filter = fields.object("filter");
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    StatusOr<int64_t> batchSize = batchSizeOf(call);
    FRESHET_CO_RETURN_IF_ERROR(batchSize.status());
    StatusOr<std::unique_ptr<query::Matcher>> matcher = query::Matcher::compile(filter);
    FRESHET_CO_RETURN_IF_ERROR(matcher.status());

    // A user who may not list collections may still ask for the names of those the user has rights
    // on.
    const bool seesAll = mayDo(call, Action::kListCollections, call.generic.db);
    FRESHET_CO_RETURN_IF_ERROR(onlyAuthorized
                                   ? authorizeLoggedIn(call)
                                   : authorize(call, Action::kListCollections, call.generic.db));
    std::vector<bson::OwnedDocument> found;
    Pacer pacer;
    for (const catalog::CollectionRef& collection :
         call.services.catalog.collections(call.generic.db)) {
        if (pacer.isDue()) {
            FRESHET_CO_RETURN_IF_ERROR(call.checkInterrupt());
            co_await sync::wait(sync::WaitToken::completed());
        }
        const bool isSeen = seesAll || maySee(call, call.generic.db, collection->name);
        if (isSeen && (*matcher)->matches(describe(*collection, false).view())) {
            found.push_back(describe(*collection, nameOnly));
        }
    }
    if (isOplog(call.services, call.generic.db, kOplogCollection) &&
        (seesAll || maySee(call, kOplogDb, kOplogCollection)) &&
        (*matcher)->matches(describeOplog(call.services, false).view())) {
        found.push_back(describeOplog(call.services, nameOnly));
    }
    FirstBatch first;
    first.ns = call.ns("$cmd.listCollections");
    first.batchSize = *batchSize;
    std::unique_ptr<query::QueryCursor> cursor = makeListCursor(std::move(found));
    co_return co_await replyWithFirstBatch(call, std::move(cursor), std::move(first));
}

/// A member's database local has an oplog at least.
std::vector<std::string> databasesOf(const Services& services) {
    std::vector<std::string> names = services.catalog.databases();
    if (isOplog(services, kOplogDb, kOplogCollection) &&
        std::find(names.begin(), names.end(), kOplogDb) == names.end()) {
        names.emplace_back(kOplogDb);
        std::sort(names.begin(), names.end());
    }
    return names;
}

/// Databases have no files of their own: this is the database's part of the shared file.
int64_t bytesOf(const Invocation& call, const std::string& db) {
    int64_t sum = 0;
    for (const catalog::CollectionRef& collection : call.services.catalog.collections(db)) {
        sum += storedBytes(call.services.store, *collection);
    }
    return sum;
}

bson::OwnedDocument describe(const std::string& db, int64_t bytes, bool nameOnly) {
    bson::Builder out;
    out.add("name", db);
    if (!nameOnly) {
        out.add("sizeOnDisk", bytes).add("empty", false);
    }
    return bson::OwnedDocument(out.finish());
}

sync::Task<Status> runListDatabases(Invocation& call) {
    Fields fields(call.body(), "listDatabases");
    const bool nameOnly = fields.boolean("nameOnly", false);
    const bool isAskedForAll =
        fields.has("authorizedDatabases") && !fields.boolean("authorizedDatabases", false);
    const bson::Document filter = fields.object("filter");
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    const bool onlyAuthorized = call.body().find("authorizedDatabases").isTruthy() ||
                                !mayDoOnCluster(call, Action::kListDatabases);
    FRESHET_CO_RETURN_IF_ERROR(isAskedForAll ? authorizeCluster(call, Action::kListDatabases)
                                             : authorizeLoggedIn(call));
    StatusOr<std::unique_ptr<query::Matcher>> matcher = query::Matcher::compile(filter);
    FRESHET_CO_RETURN_IF_ERROR(matcher.status());
    int64_t total = 0;
    Pacer pacer;
    {
        auto list = call.reply.array("databases");
        for (const std::string& name : databasesOf(call.services)) {
            if (pacer.isDue()) {
                FRESHET_CO_RETURN_IF_ERROR(call.checkInterrupt());
                co_await sync::wait(sync::WaitToken::completed());
            }
            if (onlyAuthorized && !maySee(call, name)) {
                continue;
            }
            const int64_t bytes = nameOnly ? 0 : bytesOf(call, name);
            const bson::OwnedDocument document = describe(name, bytes, nameOnly);
            if ((*matcher)->matches(document.view())) {
                list.push(document.view());
                total += bytes;
            }
        }
    }
    if (!nameOnly) {
        call.reply.add("totalSize", total).add("totalSizeMb", total >> 20);
    }
    co_return Status::ok();
}

}  // namespace

CommandTable listCommands() {
    return {
        {
            .name = "listCollections",
            .aliases = {},
            .help = "list the collections of a database",
            .fields = {"filter", "nameOnly", "authorizedCollections", "cursor"},
            .handler = runListCollections,
            .access = Access::byHandler(),
            .readOnly = true,
            .inApiVersion1 = true,
        },
        {
            .name = "listDatabases",
            .aliases = {},
            .help = "list databases",
            .fields = {"filter", "nameOnly", "authorizedDatabases"},
            .handler = runListDatabases,
            .access = Access::byHandler(),
            .adminOnly = true,
            .readOnly = true,
            .inApiVersion1 = true,
        },
    };
}

}  // namespace freshet::command
