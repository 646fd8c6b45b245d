// SPDX-License-Identifier: Apache-2.0
/// createIndexes, dropIndexes and listIndexes.
#include "freshet/bson/compare.h"
#include "freshet/bson/json.h"
#include "freshet/command/crud/cursor_reply.h"
#include "freshet/command/run/tables.h"

#include <algorithm>

namespace freshet::command {
namespace {

/// What an index may have and we serve; the rest is refused by name below.
constexpr std::string_view kServedOptions[] = {
    "v", "key", "name", "ns", "unique", "sparse", "background", "collation", "storageEngine"};
/// Known to the protocol and not served: an index without them would be a different index.
constexpr std::string_view kUnservedOptions[] = {"partialFilterExpression",
                                                 "expireAfterSeconds",
                                                 "hidden",
                                                 "prepareUnique",
                                                 "clustered",
                                                 "wildcardProjection",
                                                 "weights",
                                                 "default_language",
                                                 "language_override",
                                                 "textIndexVersion",
                                                 "2dsphereIndexVersion",
                                                 "bits",
                                                 "min",
                                                 "max",
                                                 "dropDups"};

template <typename Range>
bool contains(const Range& names, std::string_view name) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

Status checkOption(Fields* fields, const bson::Element& option, bson::Document spec) {
    if (contains(kServedOptions, option.name())) {
        return Status::ok();
    }
    if (!contains(kUnservedOptions, option.name())) {
        return invalid(Reason::kInvalidIndexSpecificationOption,
                       "The field '" + std::string(option.name()) +
                           "' is not valid for an index specification. Specification: " +
                           bson::toShellText(spec));
    }
    // expireAfterSeconds: 0 is a real option, so a number counts whatever its value.
    if (option.isNumber() && option.name() == "expireAfterSeconds") {
        return Status(Code::kUnsupported,
                      "BSON field 'createIndexes.indexes.expireAfterSeconds' is not supported by "
                      "this server");
    }
    fields->refuse({option.name()});
    return fields->status();
}

/// a_1_b_-1, as drivers name an index that has no name.
std::string nameOf(bson::Document key) {
    std::string name;
    for (const bson::Element& field : key) {
        name += name.empty() ? "" : "_";
        name += field.name();
        name += "_";
        name +=
            field.isString() ? std::string(field.stringValue()) : std::to_string(field.toInt64());
    }
    return name;
}

StatusOr<catalog::IndexRequest> parseIndex(bson::Document spec, bool ignoresUnknown) {
    Fields fields(spec, "createIndexes.indexes");
    catalog::IndexRequest request;
    fields.required("key");
    const bson::Document key = fields.object("key");
    bson::Builder kept;
    for (const bson::Element& option : spec) {
        Status status = checkOption(&fields, option, spec);
        const bool isUnknown = status.reason() == Reason::kInvalidIndexSpecificationOption;
        if (isUnknown && ignoresUnknown) {
            continue;
        }
        FRESHET_RETURN_IF_ERROR(std::move(status));
        kept.add(option);
    }
    fields.refuseCollation();
    request.key = bson::OwnedDocument(key);
    request.name = std::string(fields.string("name"));
    request.unique = fields.boolean("unique", false);
    request.sparse = fields.boolean("sparse", false);
    FRESHET_RETURN_IF_ERROR(fields.status());
    if (request.name.empty()) {
        request.name = nameOf(key);
    }
    request.spec = bson::OwnedDocument(kept.finish());
    return request;
}

StatusOr<std::vector<catalog::IndexRequest>> parseIndexes(bson::Document body) {
    Fields fields(body, "createIndexes");
    const bool ignoresUnknown = fields.boolean("ignoreUnknownIndexOptions", false);
    fields.required("indexes");
    const std::vector<bson::Document> specs = fields.objects("indexes");
    if (fields.has("commitQuorum")) {
        fields.fail(badValue("Standalones can't specify commitQuorum"));
    }
    FRESHET_RETURN_IF_ERROR(fields.status());
    if (specs.empty()) {
        return badValue("Must specify at least one index to create");
    }
    std::vector<catalog::IndexRequest> requests;
    for (bson::Document spec : specs) {
        FRESHET_ASSIGN_OR_RETURN(catalog::IndexRequest request, parseIndex(spec, ignoresUnknown));
        requests.push_back(std::move(request));
    }
    return requests;
}

sync::Task<Status> runCreateIndexes(Invocation& call) {
    StatusOr<std::string> collection = call.collectionName();
    FRESHET_CO_RETURN_IF_ERROR(collection.status());
    StatusOr<std::vector<catalog::IndexRequest>> requests = parseIndexes(call.body());
    FRESHET_CO_RETURN_IF_ERROR(requests.status());
    catalog::IndexCounts counts;
    std::unique_ptr<catalog::Change> change = call.services.catalog.createIndexes(
        call.generic.db, *collection, std::move(*requests), &counts);
    Status status = co_await driveChange(call, *change);
    FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    call.reply.add("numIndexesBefore", static_cast<int32_t>(counts.before));
    call.reply.add("numIndexesAfter", static_cast<int32_t>(counts.after));
    call.reply.add("createdCollectionAutomatically", counts.createdCollection);
    if (counts.before == counts.after) {
        call.reply.add("note", "all indexes already exist");
    }
    co_return Status::ok();
}

/// The names in `index`: a name, a list of names, "*", or a key pattern.
StatusOr<std::vector<std::string>> namesToDrop(const Invocation& call,
                                               const catalog::CollectionRef& collection) {
    Fields fields(call.body(), "dropIndexes");
    const bson::Element index = fields.required("index");
    FRESHET_RETURN_IF_ERROR(fields.status());
    std::vector<std::string> names;
    if (index.isString()) {
        names.emplace_back(index.stringValue());
    } else if (index.isArray()) {
        for (const bson::Element& name : index.document()) {
            if (!name.isString()) {
                return invalid(Reason::kTypeMismatch,
                               "dropIndexes takes an array of index names as strings");
            }
            names.emplace_back(name.stringValue());
        }
    } else if (index.isObject()) {
        for (const auto& candidate : collection->indexes) {
            const bson::Element key = candidate->spec.view().find("key");
            if (key.isObject() && bson::compareDocuments(key.document(), index.document()) == 0) {
                names.push_back(candidate->name);
            }
        }
        if (names.empty()) {
            return Status(Code::kNotFound,
                          Reason::kIndexNotFound,
                          "can't find index with key: " + bson::toShellText(index.document()));
        }
    } else {
        return invalid(Reason::kTypeMismatch,
                       "BSON field 'dropIndexes.index' is the wrong type '" +
                           std::string(bson::typeName(index.type())) +
                           "', expected types '[string, object, array]'");
    }
    return names;
}

Status namespaceNotFound(std::string text) {
    return Status(Code::kNotFound, Reason::kNamespaceNotFound, std::move(text));
}

sync::Task<Status> runDropIndexes(Invocation& call) {
    StatusOr<std::string> collection = call.collectionName();
    FRESHET_CO_RETURN_IF_ERROR(collection.status());
    catalog::CollectionRef found = call.services.catalog.find(call.generic.db, *collection);
    if (found == nullptr) {
        co_return namespaceNotFound("ns not found " + call.ns(*collection));
    }
    StatusOr<std::vector<std::string>> names = namesToDrop(call, found);
    FRESHET_CO_RETURN_IF_ERROR(names.status());
    const bool dropsAll = names->size() == 1 && names->front() == "*";
    catalog::IndexCounts counts;
    std::unique_ptr<catalog::Change> change =
        call.services.catalog.dropIndexes(call.generic.db, *collection, std::move(*names), &counts);
    Status status = co_await driveChange(call, *change);
    FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    call.reply.add("nIndexesWas", static_cast<int32_t>(counts.before));
    if (dropsAll) {
        call.reply.add("msg", "non-_id indexes dropped for collection");
    }
    co_return Status::ok();
}

sync::Task<Status> runListIndexes(Invocation& call) {
    StatusOr<std::string> collection = call.collectionName();
    FRESHET_CO_RETURN_IF_ERROR(collection.status());
    StatusOr<int64_t> batchSize = batchSizeOf(call);
    FRESHET_CO_RETURN_IF_ERROR(batchSize.status());
    catalog::CollectionRef found = call.services.catalog.find(call.generic.db, *collection);
    if (found == nullptr) {
        co_return namespaceNotFound("ns does not exist: " + call.ns(*collection));
    }
    std::vector<bson::OwnedDocument> specs;
    for (const auto& index : found->indexes) {
        specs.push_back(index->spec);
    }
    FirstBatch how;
    how.ns = call.ns(*collection);
    how.batchSize = *batchSize;
    std::unique_ptr<query::QueryCursor> cursor = makeListCursor(std::move(specs));
    co_return co_await replyWithFirstBatch(call, std::move(cursor), std::move(how));
}

}  // namespace

CommandTable indexCommands() {
    return {
        {
            .name = "createIndexes",
            .aliases = {},
            .help = "create indexes",
            .fields = {"indexes", "ignoreUnknownIndexOptions", "commitQuorum"},
            .handler = runCreateIndexes,
            .access = Access::onCollection(Action::kCreateIndex),
            .inApiVersion1 = true,
        },
        {
            .name = "dropIndexes",
            .aliases = {"deleteIndexes"},
            .help = "drop indexes",
            .fields = {"index"},
            .handler = runDropIndexes,
            .access = Access::onCollection(Action::kDropIndex),
            .inApiVersion1 = true,
        },
        {
            .name = "listIndexes",
            .aliases = {},
            .help = "list the indexes of a collection",
            .fields = {"cursor"},
            .handler = runListIndexes,
            .access = Access::onCollection(Action::kListIndexes),
            .readOnly = true,
            .inApiVersion1 = true,
        },
    };
}

}  // namespace freshet::command
