// SPDX-License-Identifier: Apache-2.0
/// validate: does every index hold exactly what the documents ask for?
#include "freshet/bson/count.h"
#include "freshet/catalog/verify.h"
#include "freshet/command/run/invocation.h"
#include "freshet/command/run/tables.h"

namespace freshet::command {
namespace {

void addReport(const catalog::Collection& collection,
               const catalog::VerifyReport& report,
               bson::Builder* reply) {
    reply->add("ns", collection.ns()).add("uuid", bson::Binary{4, collection.uuid});
    bson::addCount(reply, "nrecords", static_cast<int64_t>(report.documents));
    reply->add("nIndexes", static_cast<int32_t>(collection.indexes.size()));
    {
        auto keys = reply->object("keysPerIndex");
        for (const auto& index : report.indexes) {
            bson::addCount(&keys, index.name, static_cast<int64_t>(index.entries));
        }
    }
    {
        auto details = reply->object("indexDetails");
        for (const auto& index : report.indexes) {
            details.object(index.name).add("valid", index.isWhole());
        }
    }
    reply->array("warnings");
    {
        auto errors = reply->array("errors");
        for (const std::string& problem : report.problems) {
            errors.push(problem);
        }
    }
    reply->add("valid", report.isValid()).add("repaired", false);
}

sync::Task<Status> runValidate(Invocation& call) {
    StatusOr<std::string> name = call.collectionName();
    FRESHET_CO_RETURN_IF_ERROR(name.status());
    Fields fields(call.body(), "validate");
    // These options select how thorough the check is; it is always the full one.
    const bool isFull = fields.boolean("full", false);
    const bool isInBackground = fields.boolean("background", false);
    fields.boolean("checkBSONConformance", false);
    const bool isMetadataOnly = fields.boolean("metadata", false);
    fields.refuse({"repair", "fixMultikey"});
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    if (isFull && isInBackground) {
        co_return invalid(Reason::kInvalidOptions,
                          "Running the validate command with both { background: true } and "
                          "{ full: true } is not supported.");
    }
    catalog::CollectionRef collection = call.services.catalog.find(call.generic.db, *name);
    if (collection == nullptr) {
        co_return Status(Code::kNotFound,
                         Reason::kNamespaceNotFound,
                         "Collection '" + call.ns(*name) + "' does not exist to validate.");
    }
    if (isMetadataOnly) {
        addReport(*collection, {}, &call.reply);
        co_return Status::ok();
    }
    catalog::Verification verification(call.services.store, collection);
    Status status = co_await drive(call, verification);
    FRESHET_CO_RETURN_IF_ERROR(status);
    addReport(*collection, verification.report(), &call.reply);
    co_return Status::ok();
}

}  // namespace

CommandTable validateCommands() {
    return {{
        .name = "validate",
        .aliases = {},
        .help = "check a collection against its indexes",
        .fields = {"full",
                   "background",
                   "checkBSONConformance",
                   "scandata",
                   "enforceFastCount",
                   "metadata",
                   "repair",
                   "fixMultikey"},
        .handler = runValidate,
        .access = Access::onCollection(Action::kValidate),
        .readOnly = true,
    }};
}

}  // namespace freshet::command
