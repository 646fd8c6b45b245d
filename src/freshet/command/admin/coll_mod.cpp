// SPDX-License-Identifier: Apache-2.0
/// collMod: changes of a collection's options and of what its indexes are used for.
#include "freshet/bson/compare.h"
#include "freshet/bson/json.h"
#include "freshet/command/admin/options.h"
#include "freshet/command/admin/own_names.h"
#include "freshet/command/run/invocation.h"
#include "freshet/command/run/tables.h"

#include <optional>

namespace freshet::command {
namespace {

/// {index: {...}} as it was sent.
struct IndexChange {
    std::string name;
    bson::OwnedDocument key;
    std::optional<int64_t> expireAfterSeconds;
    std::optional<bool> hidden;
};

struct RequestedChanges {
    std::optional<IndexChange> index;
    bson::OwnedDocument options;  // the collection's options that get other values
};

Status badOption(std::string text) {
    return invalid(Reason::kInvalidOptions, std::move(text));
}

StatusOr<IndexChange> parseIndex(bson::Document body) {
    Fields fields(body, "collMod.index");
    fields.allowOnly(
        {"keyPattern", "name", "expireAfterSeconds", "hidden", "unique", "prepareUnique"});
    IndexChange requested;
    requested.name = std::string(fields.string("name"));
    requested.key = bson::OwnedDocument(fields.object("keyPattern"));
    fields.refuse({"unique", "prepareUnique"});
    const int64_t seconds = fields.integer("expireAfterSeconds", 0);
    const bool isHidden = fields.boolean("hidden", false);
    FRESHET_RETURN_IF_ERROR(fields.status());
    if (fields.has("name") && fields.has("keyPattern")) {
        return badOption("Cannot specify both key pattern and name.");
    }
    if (!fields.has("name") && !fields.has("keyPattern")) {
        return badOption("Must specify either index name or key pattern.");
    }
    if (fields.has("expireAfterSeconds")) {
        if (seconds < 0 || seconds > INT32_MAX) {
            return badOption(
                "TTL index 'expireAfterSeconds' option must be within an acceptable "
                "range, try a different number than " +
                std::to_string(seconds));
        }
        requested.expireAfterSeconds = seconds;
    }
    if (fields.has("hidden")) {
        requested.hidden = isHidden;
    }
    if (!requested.expireAfterSeconds.has_value() && !requested.hidden.has_value()) {
        return badOption("no expireAfterSeconds, hidden, unique, or prepareUnique field");
    }
    return requested;
}

StatusOr<RequestedChanges> parseChanges(bson::Document body) {
    Fields fields(body, "collMod");
    checkSharedOptions(&fields);
    fields.refuse({"cappedSize", "cappedMax", "dryRun"});
    FRESHET_RETURN_IF_ERROR(fields.status());
    RequestedChanges requested;
    if (const bson::Element index = fields.element("index")) {
        if (!index.isObject()) {
            return invalid(Reason::kTypeMismatch,
                           "BSON field 'collMod.index' is the wrong type '" +
                               std::string(bson::typeName(index.type())) +
                               "', expected type 'object'");
        }
        FRESHET_ASSIGN_OR_RETURN(requested.index, parseIndex(index.document()));
    }
    bson::Builder options;
    keepOptions(fields, kValidationOptions, &options);
    keepOptions(fields, kImagesOptions, &options);
    requested.options = bson::OwnedDocument(options.finish());
    return requested;
}

/// `before`, with the fields of `changes` replacing its own.
bson::OwnedDocument merged(bson::Document before, bson::Document changes) {
    bson::Builder out;
    for (const bson::Element& element : before) {
        if (!changes.has(element.name())) {
            out.add(element);
        }
    }
    for (const bson::Element& element : changes) {
        const bool isNoValidator = element.name() == "validator" && element.document().isEmpty();
        if (!isNoValidator) {
            out.add(element);
        }
    }
    return bson::OwnedDocument(out.finish());
}

const catalog::Index* findIndex(const catalog::Collection& collection,
                                const IndexChange& requested) {
    if (!requested.name.empty()) {
        return collection.findIndex(requested.name);
    }
    for (const auto& index : collection.indexes) {
        const bson::Document key = index->spec.view().find("key").document();
        if (bson::compareDocuments(key, requested.key.view()) == 0) {
            return index.get();
        }
    }
    return nullptr;
}

Status editIndex(const catalog::Collection& collection,
                 const IndexChange& requested,
                 catalog::CollectionEdit* edit,
                 bson::Builder* reply) {
    const catalog::Index* index = findIndex(collection, requested);
    if (index == nullptr) {
        return Status(Code::kNotFound,
                      Reason::kIndexNotFound,
                      "cannot find index " +
                          (requested.name.empty() ? bson::toShellText(requested.key.view())
                                                  : requested.name) +
                          " for ns " + collection.ns());
    }
    bson::Builder changes;
    if (requested.expireAfterSeconds.has_value()) {
        if (index->isId()) {
            return badOption("the _id field does not support TTL indexes");
        }
        if (index->fields.size() != 1) {
            return badOption(
                "TTL indexes are single-field indexes, compound indexes do not support TTL");
        }
        if (index->expireAfterSeconds.has_value()) {
            reply->add("expireAfterSeconds_old", *index->expireAfterSeconds);
        }
        reply->add("expireAfterSeconds_new", *requested.expireAfterSeconds);
        changes.add("expireAfterSeconds", static_cast<int32_t>(*requested.expireAfterSeconds));
    }
    if (requested.hidden.has_value()) {
        if (index->isId()) {
            return badValue("can't hide _id index");
        }
        reply->add("hidden_old", index->hidden).add("hidden_new", *requested.hidden);
        changes.add("hidden", *requested.hidden);
    }
    const bson::OwnedDocument changed(changes.finish());
    bson::OwnedDocument spec = merged(index->spec.view(), changed.view());
    edit->indexSpecs.emplace_back(index->name, std::move(spec));
    return Status::ok();
}

sync::Task<Status> runCollMod(Invocation& call) {
    StatusOr<std::string> collection = call.collectionName();
    FRESHET_CO_RETURN_IF_ERROR(collection.status());
    StatusOr<RequestedChanges> requested = parseChanges(call.body());
    FRESHET_CO_RETURN_IF_ERROR(requested.status());
    FRESHET_CO_RETURN_IF_ERROR(checkValidatorPlace(
        call.generic.db, *collection, requested->options.view().find("validator")));
    if (requested->index.has_value() && requested->index->expireAfterSeconds.has_value()) {
        FRESHET_CO_RETURN_IF_ERROR(checkExpiryPlace(call.generic.db, *collection));
    }
    bson::Builder was;
    std::unique_ptr<catalog::Change> change = call.services.catalog.modifyCollection(
        call.generic.db,
        *collection,
        [&](const catalog::Collection& current, catalog::CollectionEdit* edit) {
            if (!requested->options.view().isEmpty()) {
                edit->options = merged(current.options.view(), requested->options.view());
            }
            return requested->index.has_value() ? editIndex(current, *requested->index, edit, &was)
                                                : Status::ok();
        });
    Status status = co_await driveChange(call, *change);
    FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    const bson::OwnedDocument answer(was.finish());
    call.reply.addFields(answer.view());
    co_return Status::ok();
}

}  // namespace

CommandTable modifyCommands() {
    return {{
        .name = "collMod",
        .aliases = {},
        .help = "change a collection's options",
        .fields = withSharedOptions({"index", "cappedSize", "cappedMax", "dryRun"}),
        .handler = runCollMod,
        .access = Access::onCollection(Action::kCollMod),
        .inApiVersion1 = true,
    }};
}

}  // namespace freshet::command
