// SPDX-License-Identifier: Apache-2.0
/// create, drop and dropDatabase.
#include "freshet/bson/json.h"
#include "freshet/catalog/storage_engine.h"
#include "freshet/catalog/writable_names.h"
#include "freshet/command/access/replica_set_member.h"
#include "freshet/command/admin/options.h"
#include "freshet/command/admin/own_names.h"
#include "freshet/command/run/invocation.h"
#include "freshet/command/run/tables.h"

#include <algorithm>
#include <iterator>

namespace freshet::command {
namespace {

/// Options that describe the collection and are shown by listCollections, but have no effect here.
constexpr std::string_view kKeptOptions[] = {"storageEngine", "indexOptionDefaults"};

Status checkIdIndex(bson::Document spec) {
    if (spec.isEmpty()) {
        return Status::ok();
    }
    const bson::Element key = spec.find("key");
    const bool isId = key.isObject() && key.document().fieldCount() == 1 &&
                      key.document().find("_id").isNumber() &&
                      key.document().find("_id").toInt64() == 1;
    return isId ? Status::ok()
                : badValue("The field 'key' for an _id index must be {_id: 1}, but got " +
                           (key.isMissing() ? std::string("nothing") : bson::toShellText(key)));
}

StatusOr<bson::OwnedDocument> parseCreate(bson::Document body) {
    Fields fields(body, "create");
    checkSharedOptions(&fields);
    fields.refuse({"capped", "clusteredIndex", "encryptedFields"});
    fields.refuseCollation();
    FRESHET_RETURN_IF_ERROR(checkIdIndex(fields.object("idIndex")));
    fields.boolean("autoIndexId", true);
    fields.boolean("temp", false);
    FRESHET_RETURN_IF_ERROR(catalog::codecOf(fields.object("storageEngine")).status());
    const bool hasBounds = fields.has("size") || fields.has("max");
    FRESHET_RETURN_IF_ERROR(fields.status());
    if (hasBounds) {
        return invalid(
            Reason::kInvalidOptions,
            "the 'capped' field needs to be true when either the 'size' or 'max' fields are "
            "present");
    }
    bson::Builder options;
    keepOptions(fields, kKeptOptions, &options);
    keepOptions(fields, kValidationOptions, &options);
    keepOptions(fields, kImagesOptions, &options);
    return bson::OwnedDocument(options.finish());
}

Status createInTransaction(Invocation& call,
                           const std::string& collection,
                           const bson::OwnedDocument& options) {
    FRESHET_ASSIGN_OR_RETURN(const catalog::CollectionRef found,
                             call.find(call.generic.db, collection));
    return found == nullptr ? call.transaction->create(call.generic.db, collection, options)
                            : Status(Code::kExists,
                                     Reason::kNamespaceExists,
                                     "Collection " + call.ns(collection) + " already exists.");
}

sync::Task<Status> runCreate(Invocation& call) {
    StatusOr<std::string> collection = call.collectionName();
    FRESHET_CO_RETURN_IF_ERROR(collection.status());
    FRESHET_CO_RETURN_IF_ERROR(catalog::checkWritable(call.generic.db, *collection));
    StatusOr<bson::OwnedDocument> options = parseCreate(call.body());
    FRESHET_CO_RETURN_IF_ERROR(options.status());
    FRESHET_CO_RETURN_IF_ERROR(
        checkValidatorPlace(call.generic.db, *collection, options->view().find("validator")));
    if (call.transaction != nullptr) {
        co_return createInTransaction(call, *collection, *options);
    }
    std::unique_ptr<catalog::Change> change = call.services.catalog.createCollection(
        call.generic.db, *collection, std::move(*options), true);
    co_return co_await driveChange(call, *change);
}

sync::Task<Status> runDrop(Invocation& call) {
    StatusOr<std::string> collection = call.collectionName();
    FRESHET_CO_RETURN_IF_ERROR(collection.status());
    if (*collection == kProfileCollection &&
        call.services.profiler.of(call.generic.db).level != 0) {
        co_return invalid(Reason::kIllegalOperation,
                          "turn off profiling before dropping system.profile collection");
    }
    catalog::CollectionRef before = call.services.catalog.find(call.generic.db, *collection);
    if (before != nullptr) {
        FRESHET_CO_RETURN_IF_ERROR(checkDrop(call.generic.db, *collection));
    }
    std::unique_ptr<catalog::Change> change =
        call.services.catalog.dropCollection(call.generic.db, *collection);
    Status status = co_await driveChange(call, *change);
    if (status.reason() == Reason::kNamespaceNotFound) {
        co_return Status::ok();  // since 7.0 a missing collection counts as dropped
    }
    FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    if (before != nullptr) {
        call.reply.add("nIndexesWas", static_cast<int32_t>(before->indexes.size()));
    }
    call.reply.add("ns", call.ns(*collection));
    co_return Status::ok();
}

sync::Task<Status> runDropDatabase(Invocation& call) {
    const bson::Element flag = *call.body().begin();
    if (!flag.isNumber() || flag.toInt64() != 1) {
        co_return badValue("have to pass 1 as db parameter");
    }
    FRESHET_CO_RETURN_IF_ERROR(checkDropDatabase(call.generic.db, isReplicaSet(call.services)));
    const bool wasThere = !call.services.catalog.collections(call.generic.db).empty();
    std::unique_ptr<catalog::Change> change = call.services.catalog.dropDatabase(call.generic.db);
    Status status = co_await driveChange(call, *change);
    FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    call.services.profiler.forget(call.generic.db);
    if (wasThere) {
        call.reply.add("dropped", call.generic.db);
    }
    co_return Status::ok();
}

}  // namespace

CommandTable collectionCommands() {
    return {
        {
            .name = "create",
            .aliases = {},
            .help = "create a collection",
            .fields = withSharedOptions({"capped",
                                         "size",
                                         "max",
                                         "autoIndexId",
                                         "idIndex",
                                         "temp",
                                         "flags",
                                         "storageEngine",
                                         "indexOptionDefaults",
                                         "clusteredIndex",
                                         "collation",
                                         "encryptedFields"}),
            .handler = runCreate,
            .access = Access::onCollection(Action::kCreateCollection),
            .inApiVersion1 = true,
            .inTransactions = InTransactions::kStatement,
        },
        {
            .name = "drop",
            .aliases = {},
            .help = "drop a collection",
            .fields = {},
            .handler = runDrop,
            .access = Access::onCollection(Action::kDropCollection),
            .inApiVersion1 = true,
        },
        {
            .name = "dropDatabase",
            .aliases = {},
            .help = "drop a database",
            .fields = {},
            .handler = runDropDatabase,
            .access = Access::onDatabase(Action::kDropDatabase),
            .inApiVersion1 = true,
        },
    };
}

}  // namespace freshet::command
