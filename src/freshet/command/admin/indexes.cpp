// SPDX-License-Identifier: Apache-2.0
/// createIndexes, dropIndexes and listIndexes.
#include "freshet/bson/compare.h"
#include "freshet/bson/json.h"
#include "freshet/catalog/storage_engine.h"
#include "freshet/command/access/replica_set_member.h"
#include "freshet/command/admin/own_names.h"
#include "freshet/command/crud/cursor_reply.h"
#include "freshet/command/run/tables.h"

#include <algorithm>
#include <set>

namespace freshet::command {
namespace {

/// How an option's value is checked. kUnserved: part of the protocol but not supported; without it
/// the index would be a different one.
enum class OptionKind : uint8_t { kAny, kBool, kNumber, kString, kObject, kUnserved };
struct IndexOption {
    std::string_view name;
    OptionKind kind;
    bool isForId = false;  // allowed for the _id index
};
constexpr IndexOption kOptions[] = {
    {"v", OptionKind::kNumber, true},
    {"key", OptionKind::kObject, true},
    {"name", OptionKind::kString, true},
    {"ns", OptionKind::kAny, true},
    {"unique", OptionKind::kBool},
    {"sparse", OptionKind::kBool},
    {"background", OptionKind::kAny, true},
    {"hidden", OptionKind::kBool},
    {"expireAfterSeconds", OptionKind::kNumber},
    {"partialFilterExpression", OptionKind::kObject},
    {"collation", OptionKind::kObject, true},
    {"storageEngine", OptionKind::kObject},
    {"dropDups", OptionKind::kAny},
    {"prepareUnique", OptionKind::kUnserved},
    {"clustered", OptionKind::kUnserved},
    {"wildcardProjection", OptionKind::kUnserved},
    {"weights", OptionKind::kUnserved},
    {"default_language", OptionKind::kUnserved},
    {"language_override", OptionKind::kUnserved},
    {"textIndexVersion", OptionKind::kUnserved},
    {"2dsphereIndexVersion", OptionKind::kUnserved},
    {"bits", OptionKind::kUnserved},
    {"min", OptionKind::kUnserved},
    {"max", OptionKind::kUnserved},
};

constexpr uint32_t kUnsatisfiableCommitQuorum = 278;

const IndexOption* findOption(std::string_view name) {
    const auto* found =
        std::find_if(std::begin(kOptions), std::end(kOptions), [&](const IndexOption& option) {
            return option.name == name;
        });
    return found == std::end(kOptions) ? nullptr : found;
}

Status mustBe(const bson::Element& option, std::string_view what) {
    return invalid(Reason::kTypeMismatch,
                   "The field '" + std::string(option.name()) + "' must be " + std::string(what) +
                       ", but got " + std::string(bson::typeName(option.type())));
}

Status checkType(const IndexOption& known, const bson::Element& option) {
    const bool isBoolLike = option.isNumber() || option.type() == bson::Type::kBool;
    switch (known.kind) {
        case OptionKind::kBool:
            return isBoolLike
                       ? Status::ok()
                       : invalid(Reason::kTypeMismatch,
                                 "The field '" + std::string(option.name()) + "' has value " +
                                     std::string(option.name()) + ": " + bson::toShellText(option) +
                                     ", which is not convertible to bool");
        case OptionKind::kNumber:
            return option.isNumber() ? Status::ok() : mustBe(option, "a number");
        case OptionKind::kString:
            return option.isString() ? Status::ok() : mustBe(option, "a string");
        case OptionKind::kObject:
            return option.isObject() ? Status::ok() : mustBe(option, "an object");
        case OptionKind::kAny:
        case OptionKind::kUnserved:
            break;
    }
    return Status::ok();
}

bool isIdKey(bson::Document key) {
    return key.fieldCount() == 1 && key.begin()->name() == "_id" && key.begin()->toDouble() == 1;
}

Status notValid(const bson::Element& option, const char* where, bson::Document spec) {
    return invalid(Reason::kInvalidIndexSpecificationOption,
                   "The field '" + std::string(option.name()) + "' is not valid for an " + where +
                       " specification. Specification: " + bson::toShellText(spec));
}

Status checkOption(Fields* fields, const bson::Element& option, bson::Document spec) {
    const IndexOption* known = findOption(option.name());
    if (known == nullptr) {
        return notValid(option, "index", spec);
    }
    FRESHET_RETURN_IF_ERROR(checkType(*known, option));
    if (known->kind == OptionKind::kUnserved) {
        fields->refuse({option.name()});
        return fields->status();
    }
    if (option.name() == "v" && option.toInt64() != 1 && option.toInt64() != 2) {
        return invalid(Reason::kCannotCreateIndex,
                       "Invalid index specification " + bson::toShellText(spec) +
                           "; cannot create an index with v=" + bson::toShellText(option));
    }
    if (option.name() == "storageEngine") {
        FRESHET_RETURN_IF_ERROR(catalog::codecOf(option.document()).status());
    }
    const bson::Element key = spec.find("key");
    if (!known->isForId && key.isObject() && isIdKey(key.document())) {
        return notValid(option, "_id index", spec);
    }
    return Status::ok();
}

Status checkName(std::string_view name, bson::Document key) {
    if (name.empty()) {
        return invalid(Reason::kCannotCreateIndex, "index name cannot be empty");
    }
    if (name == "*") {
        return badValue("The index name '*' is not valid.");
    }
    if (name.find('\0') != std::string_view::npos) {
        return invalid(Reason::kCannotCreateIndex, "index name cannot contain NUL bytes");
    }
    if (name == "_id_" && !isIdKey(key)) {
        return badValue(
            "The index name '_id_' is reserved for the _id index, which must have key pattern "
            "{_id: 1}, found key: " +
            bson::toShellText(key));
    }
    return Status::ok();
}

Status missingOption(const char* name) {
    return invalid(
        Reason::kFailedToParse,
        "The '" + std::string(name) + "' field is a required property of an index specification");
}

StatusOr<catalog::IndexRequest> parseIndex(bson::Document spec, bool ignoresUnknown) {
    Fields fields(spec, "createIndexes.indexes");
    bson::Builder kept;
    std::set<const IndexOption*> seen;
    for (const bson::Element& option : spec) {
        const IndexOption* known = findOption(option.name());
        if (ignoresUnknown && known == nullptr) {
            continue;
        }
        if (known != nullptr && !seen.insert(known).second) {
            return invalid(location(40413),
                           "BSON field 'createIndexes.indexes." + std::string(option.name()) +
                               "' is a duplicate field");
        }
        FRESHET_RETURN_IF_ERROR(checkOption(&fields, option, spec));
        if (option.name() != "dropDups" && option.name() != "collation") {  // the simple one
            kept.add(option);
        }
    }
    if (!spec.has("key")) {
        return missingOption("key");
    }
    if (!spec.has("name")) {
        return missingOption("name");
    }
    catalog::IndexRequest request;
    request.key = bson::OwnedDocument(spec.find("key").document());
    request.name = std::string(spec.find("name").stringValue());
    FRESHET_RETURN_IF_ERROR(checkName(request.name, request.key.view()));
    fields.refuseCollation();
    request.unique = fields.boolean("unique", false);
    request.sparse = fields.boolean("sparse", false);
    FRESHET_RETURN_IF_ERROR(fields.status());
    request.spec = bson::OwnedDocument(kept.finish());
    return request;
}

/// How many members must be ready for an index: with one member, one.
Status checkCommitQuorum(const Invocation& call, const bson::Element& quorum) {
    constexpr int64_t kMembersMax = 50;
    if (!isReplicaSet(call.services)) {
        return badValue("Standalones can't specify commitQuorum");
    }
    if (quorum.isNumber()) {
        const int64_t members = quorum.toInt64();
        if (members < 0 || members > kMembersMax) {
            return invalid(Reason::kFailedToParse,
                           "commitQuorum has to be a non-negative number and not greater than 50");
        }
        return members <= 1 ? Status::ok()
                            : invalid(location(kUnsatisfiableCommitQuorum),
                                      "Not enough data-bearing voting nodes. Required: " +
                                          std::to_string(members));
    }
    if (!quorum.isString()) {
        return invalid(Reason::kFailedToParse, "commitQuorum has to be a number or a string");
    }
    const std::string_view mode = quorum.stringValue();
    if (mode.empty()) {
        return invalid(Reason::kFailedToParse, "commitQuorum can't be an empty string");
    }
    return mode == "majority" || mode == "votingMembers"
               ? Status::ok()
               : invalid(Reason::kUnknownReplWriteConcern,
                         "No write concern mode named '" + std::string(mode) +
                             "' found in replica set configuration");
}

/// An index is complete when its command is answered, so no build waits for a quorum.
sync::Task<Status> runSetCommitQuorum(Invocation& call) {
    StatusOr<std::string> collection = call.collectionName();
    FRESHET_CO_RETURN_IF_ERROR(collection.status());
    Fields fields(call.body(), "setIndexCommitQuorum");
    fields.required("indexNames");
    const bson::Document names = fields.array("indexNames");
    fields.required("commitQuorum");
    const bson::Element quorum = fields.element("commitQuorum");
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    FRESHET_CO_RETURN_IF_ERROR(checkCommitQuorum(call, quorum));
    const std::string ns = call.ns(*collection);
    if (names.isEmpty()) {
        co_return invalid(Reason::kIndexNotFound,
                          "Cannot set a new commit quorum on an index build in collection '" + ns +
                              "' without providing any indexes.");
    }
    co_return call.services.catalog.find(call.generic.db, *collection) == nullptr
        ? invalid(Reason::kNamespaceNotFound, "Collection '" + ns + "' was not found.")
        : invalid(Reason::kIndexNotFound,
                  "Cannot find an index build on collection '" + ns +
                      "' with the provided index names");
}

StatusOr<std::vector<catalog::IndexRequest>> parseIndexes(const Invocation& call) {
    Fields fields(call.body(), "createIndexes");
    const bool ignoresUnknown = fields.boolean("ignoreUnknownIndexOptions", false);
    fields.required("indexes");
    const std::vector<bson::Document> specs = fields.objects("indexes");
    if (fields.has("commitQuorum")) {
        fields.fail(checkCommitQuorum(call, fields.element("commitQuorum")));
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

sync::Task<Status> createIndexes(Invocation& call,
                                 const std::string& collection,
                                 std::vector<catalog::IndexRequest> requests,
                                 catalog::IndexCounts* counts) {
    if (call.transaction != nullptr) {
        co_return call.transaction->createIndexes(call.generic.db, collection, requests, counts);
    }
    const std::unique_ptr<catalog::Change> change = call.services.catalog.createIndexes(
        call.generic.db, collection, std::move(requests), counts);
    co_return co_await driveChange(call, *change);
}

sync::Task<Status> runCreateIndexes(Invocation& call) {
    StatusOr<std::string> collection = call.collectionName();
    FRESHET_CO_RETURN_IF_ERROR(collection.status());
    StatusOr<std::vector<catalog::IndexRequest>> requests = parseIndexes(call);
    FRESHET_CO_RETURN_IF_ERROR(requests.status());
    const auto expires = [](const catalog::IndexRequest& request) {
        return request.spec.view().has("expireAfterSeconds");
    };
    if (std::any_of(requests->begin(), requests->end(), expires)) {
        FRESHET_CO_RETURN_IF_ERROR(checkExpiryPlace(call.generic.db, *collection));
    }
    catalog::IndexCounts counts;
    Status status = co_await createIndexes(call, *collection, std::move(*requests), &counts);
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
        if (names.size() > 1) {
            return invalid(Reason::kAmbiguousIndexKeyPattern,
                           std::to_string(names.size()) + " indexes found for key: " +
                               bson::toShellText(index.document()) + ", identify by name instead.");
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
    call.hasTriedToWrite = true;
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
    FirstBatch first;
    first.ns = call.ns(*collection);
    first.batchSize = *batchSize;
    std::unique_ptr<query::QueryCursor> cursor = makeListCursor(std::move(specs));
    co_return co_await replyWithFirstBatch(call, std::move(cursor), std::move(first));
}

}  // namespace

std::vector<std::string_view> indexOptionNames() {
    std::vector<std::string_view> names;
    for (const IndexOption& option : kOptions) {
        names.push_back(option.name);
    }
    return names;
}

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
            .inTransactions = InTransactions::kStatement,
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
        {
            .name = "setIndexCommitQuorum",
            .aliases = {},
            .help = "change how many members an index build waits for",
            .fields = {"indexNames", "commitQuorum"},
            .handler = runSetCommitQuorum,
            .access = Access::onCollection(Action::kCreateIndex),
        },
    };
}

}  // namespace freshet::command
