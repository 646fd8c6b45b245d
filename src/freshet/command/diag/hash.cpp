// SPDX-License-Identifier: Apache-2.0
/// dbHash: digests of what a database holds, for comparing two servers. Same as mongod's: MD5 over
/// a collection's documents in the order of _id, and over the collections' digests.
#include "freshet/command/crud/cursor_reply.h"
#include "freshet/command/run/invocation.h"
#include "freshet/command/run/profiler.h"
#include "freshet/command/run/tables.h"
#include "freshet/platform/clock.h"
#include "freshet/query/cursor.h"
#include "freshet/security/md5.h"

#include <algorithm>
#include <limits>
#include <map>

namespace freshet::command {
namespace {

constexpr size_t kPortionBytes = 1 << 20;

using Names = std::vector<std::string>;

/// The collections that are asked for; none: all.
StatusOr<Names> namesOf(const bson::Element& list) {
    Names names;
    for (const bson::Element& name : list.isArray() ? list.document() : bson::Document()) {
        if (!name.isString()) {
            return badValue("collections entries have to be strings");
        }
        names.emplace_back(name.stringValue());
    }
    return names;
}

sync::Task<Status> addDocuments(Invocation& call, query::QueryCursor& cursor, security::Md5* md5) {
    while (!cursor.isExhausted()) {
        query::Batch batch(std::numeric_limits<size_t>::max(), kPortionBytes);
        Status status = co_await fillBatch(call, cursor, &batch);
        FRESHET_CO_RETURN_IF_ERROR(std::move(status));
        const std::string array = batch.finishArray();
        for (const bson::Element& document : bson::Document(array)) {
            md5->add(document.document().bytes());
        }
    }
    co_return Status::ok();
}

sync::Task<StatusOr<std::string>> digestOf(Invocation& call, catalog::CollectionRef collection) {
    query::FindRequest request;
    bson::Builder order;
    order.add("_id", int32_t{1});
    request.sort = bson::OwnedDocument(order.finish());
    request.hint = request.sort;
    StatusOr<std::unique_ptr<query::QueryCursor>> cursor =
        query::makeFind(call.services.store, std::move(collection), std::move(request));
    if (!cursor.isOk()) {
        co_return cursor.status();
    }
    security::Md5 md5;
    (*cursor)->attach();
    Status status = co_await addDocuments(call, **cursor, &md5);
    (*cursor)->detach();
    if (!status.isOk()) {
        co_return status;
    }
    co_return md5.finish();
}

/// Excludes what each server has of its own.
bool isHashed(const catalog::Collection& collection, const Names& wanted) {
    return collection.name != kProfileCollection &&
           (wanted.empty() ||
            std::find(wanted.begin(), wanted.end(), collection.name) != wanted.end());
}

sync::Task<Status> runDbHash(Invocation& call) {
    const uint64_t start = platform::monotonicNanos();
    Fields fields(call.body(), "dbHash");
    fields.array("collections");
    fields.boolean("skipTempCollections", false);
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    StatusOr<Names> wanted = namesOf(fields.element("collections"));
    FRESHET_CO_RETURN_IF_ERROR(wanted.status());
    std::map<std::string, catalog::CollectionRef> collections;
    for (const catalog::CollectionRef& collection :
         call.services.catalog.collections(call.generic.db)) {
        if (isHashed(*collection, *wanted)) {
            collections.emplace(collection->name, collection);
        }
    }
    bson::Builder digests;
    bson::Builder uuids;
    security::Md5 whole;
    for (const auto& [name, collection] : collections) {
        StatusOr<std::string> digest = co_await digestOf(call, collection);
        FRESHET_CO_RETURN_IF_ERROR(digest.status());
        digests.add(name, *digest);
        uuids.add(name, bson::Binary{4, collection->uuid});
        whole.add(*digest);
    }
    call.reply.add("host", call.services.facts.host);
    const std::string shownDigests = digests.finish();
    const std::string shownUuids = uuids.finish();
    call.reply.add("collections", bson::Document(shownDigests));
    call.reply.array("capped");
    call.reply.add("uuids", bson::Document(shownUuids));
    call.reply.add("md5", whole.finish());
    call.reply.add("timeMillis",
                   static_cast<int32_t>((platform::monotonicNanos() - start) / 1'000'000));
    co_return Status::ok();
}

}  // namespace

CommandTable hashCommands() {
    return {{
        .name = "dbHash",
        .aliases = {"dbhash"},
        .help = "digests of what a database holds",
        .fields = {"collections", "skipTempCollections"},
        .handler = runDbHash,
        .access = Access::onDatabase(Action::kDbHash),
        .readOnly = true,
        .takesReadConcern = true,
    }};
}

}  // namespace freshet::command
