// SPDX-License-Identifier: Apache-2.0
/// What a pipeline requires: rights on its own collection, on those that its stages read, and on
/// those they write; and, with API Version 1 strict, that the stages belong to it. Looks at names
/// only; query checks whether the stages are well formed.
#include "freshet/command/access/authorize.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace freshet::command {
namespace {

std::string_view stringAt(bson::Document document, std::string_view name) {
    const bson::Element element = document.find(name);
    return element.isString() ? element.stringValue() : std::string_view();
}

Status notInApi(const std::string& text) {
    return invalid(Reason::kApiStrictError, text);
}

/// REQUIRES: the caller demands API Version 1.
Status checkApi(const bson::Element& stage) {
    constexpr std::string_view kOutside[] = {"$changeStreamSplitLargeEvent",
                                             "$currentOp",
                                             "$indexStats",
                                             "$listLocalSessions",
                                             "$listSearchIndexes",
                                             "$listSessions",
                                             "$planCacheStats",
                                             "$search",
                                             "$searchMeta",
                                             "$vectorSearch"};
    const std::string_view name = stage.name();
    if (std::find(std::begin(kOutside), std::end(kOutside), name) != std::end(kOutside)) {
        return notInApi(std::string(name) +
                        " is not allowed with 'apiStrict: true' in API Version 1");
    }
    if (name == "$collStats" && stage.isObject()) {
        for (const bson::Element& option : stage.document()) {
            if (option.name() != "count") {
                return notInApi(
                    "only the 'count' option to $collStats is supported in API Version 1");
            }
        }
    }
    return Status::ok();
}

/// A field that says what is read or written may occur only once: the access check must see the
/// same one as query.
Status refuseRepeated(std::string_view stage, bson::Document options) {
    constexpr std::string_view kTelling[] = {
        "from", "coll", "db", "into", "pipeline", "whenMatched", "whenNotMatched"};
    constexpr size_t kCount = std::size(kTelling);
    bool isSeen[kCount] = {};
    for (const bson::Element& option : options) {
        const auto* found = std::find(std::begin(kTelling), std::end(kTelling), option.name());
        if (found != std::end(kTelling) &&
            std::exchange(isSeen[found - std::begin(kTelling)], true)) {
            return invalid(location(40413),
                           "BSON field '" + std::string(stage) + "." + std::string(*found) +
                               "' is a duplicate field");
        }
    }
    return Status::ok();
}

Status refuseRepeated(const bson::Element& stage) {
    if (!stage.isObject()) {
        return Status::ok();
    }
    const bson::Document options = stage.document();
    FRESHET_RETURN_IF_ERROR(refuseRepeated(stage.name(), options));
    for (const char* nested : {"from", "into"}) {
        if (const bson::Element other = options.find(nested); other.isObject()) {
            FRESHET_RETURN_IF_ERROR(refuseRepeated(stage.name(), other.document()));
        }
    }
    return Status::ok();
}

struct Target {
    std::string_view db;
    std::string_view collection;
};

/// "c" or {db: "d", coll: "c"}.
Target targetOf(const bson::Element& element, std::string_view db) {
    if (element.isString()) {
        return {db, element.stringValue()};
    }
    if (!element.isObject()) {
        return {db, {}};
    }
    const std::string_view named = stringAt(element.document(), "db");
    return {named.empty() ? db : named, stringAt(element.document(), "coll")};
}

class PipelineAccess {
public:
    /// `bypassesValidation`: for what $out and $merge write.
    PipelineAccess(Invocation& call, std::string_view db, bool bypassesValidation)
        : call_(call), db_(db), bypassesValidation_(bypassesValidation) {}

    Status check(std::string_view collection, bson::Document pipeline) {
        FRESHET_RETURN_IF_ERROR(checkSource(collection, pipeline));
        return checkStages(pipeline);
    }

private:
    /// The first stage determines what is read: documents, or facts about them.
    Status checkSource(std::string_view collection, bson::Document pipeline) {
        const bson::Element first = pipeline.isEmpty() ? bson::Element() : *pipeline.begin();
        const bson::Element stage = first.isObject() && !first.document().isEmpty()
                                        ? *first.document().begin()
                                        : bson::Element();
        const std::string_view name = stage.isMissing() ? std::string_view() : stage.name();
        const bool forAllUsers = stage.isObject() && stage.document().find("allUsers").isTruthy();
        if (name == "$collStats") {
            return authorize(call_, Action::kCollStats, db_, collection);
        }
        if (name == "$indexStats") {
            return authorize(call_, Action::kIndexStats, db_, collection);
        }
        if (name == "$planCacheStats") {
            return authorize(call_, Action::kPlanCacheRead, db_, collection);
        }
        if (name == "$listSearchIndexes") {
            return authorize(call_, Action::kListSearchIndexes, db_, collection);
        }
        if (name == "$currentOp") {
            return forAllUsers ? authorizeCluster(call_, Action::kInprog)
                               : authorizeLoggedIn(call_);
        }
        if (name == "$listLocalSessions" || name == "$listSessions") {
            return forAllUsers ? authorizeCluster(call_, Action::kListSessions)
                               : authorizeLoggedIn(call_);
        }
        if (name == "$changeStream") {
            return checkChangeStream(stage, collection);
        }
        if (name == "$documents" && collection.empty()) {
            return authorizeLoggedIn(call_);
        }
        return authorize(call_, Action::kFind, db_, collection);
    }

    /// On a collection, on a database, or on all.
    Status checkChangeStream(const bson::Element& stage, std::string_view collection) {
        const bool isOfAll =
            stage.isObject() && stage.document().find("allChangesForCluster").isTruthy();
        const std::string_view db = isOfAll ? std::string_view() : std::string_view(db_);
        FRESHET_RETURN_IF_ERROR(authorize(call_, Action::kFind, db, collection));
        return authorize(call_, Action::kChangeStream, db, collection);
    }

    Status checkStages(bson::Document pipeline) {
        for (const bson::Element& element : pipeline) {
            if (element.isObject() && !element.document().isEmpty()) {
                FRESHET_RETURN_IF_ERROR(checkStage(*element.document().begin()));
            }
        }
        return Status::ok();
    }

    Status checkStage(const bson::Element& stage) {
        const std::string_view name = stage.name();
        if (call_.generic.isApiStrict) {
            FRESHET_RETURN_IF_ERROR(checkApi(stage));
        }
        constexpr std::string_view kNaming[] = {
            "$lookup", "$graphLookup", "$unionWith", "$out", "$merge"};
        if (std::find(std::begin(kNaming), std::end(kNaming), name) != std::end(kNaming)) {
            FRESHET_RETURN_IF_ERROR(refuseRepeated(stage));
            return checkNamed(stage);
        }
        if (name == "$facet" && stage.isObject()) {
            for (const bson::Element& facet : stage.document()) {
                if (facet.isArray()) {
                    FRESHET_RETURN_IF_ERROR(checkStages(facet.document()));
                }
            }
        }
        return Status::ok();
    }

    /// For a stage that names another collection.
    Status checkNamed(const bson::Element& stage) {
        const std::string_view name = stage.name();
        if (name == "$lookup" || name == "$graphLookup") {
            return stage.isObject() ? checkOther(stage.document().find("from"),
                                                 stage.document().find("pipeline"))
                                    : Status::ok();
        }
        if (name == "$unionWith") {
            const bson::Element inner =
                stage.isObject() ? stage.document().find("pipeline") : bson::Element();
            return checkOther(stage, inner);
        }
        if (name == "$out") {
            const Target to = targetOf(stage, db_);
            FRESHET_RETURN_IF_ERROR(authorize(call_, Action::kInsert, to.db, to.collection));
            FRESHET_RETURN_IF_ERROR(authorize(call_, Action::kRemove, to.db, to.collection));
            return checkBypass(to);
        }
        return checkMerge(stage);
    }

    /// Another collection that is read, possibly by a pipeline. Its stages are checked even when no
    /// collection is named ($documents).
    Status checkOther(const bson::Element& from, const bson::Element& pipeline) {
        const Target other = targetOf(from, db_);
        if (!other.collection.empty()) {
            FRESHET_RETURN_IF_ERROR(authorize(call_, Action::kFind, other.db, other.collection));
        }
        return pipeline.isArray() ? checkStages(pipeline.document()) : Status::ok();
    }

    Status checkMerge(const bson::Element& stage) {
        const bson::Document options = stage.isObject() ? stage.document() : bson::Document();
        const Target to = targetOf(stage.isObject() ? options.find("into") : stage, db_);
        if (stringAt(options, "whenNotMatched") != "discard" &&
            stringAt(options, "whenNotMatched") != "fail") {
            FRESHET_RETURN_IF_ERROR(authorize(call_, Action::kInsert, to.db, to.collection));
        }
        if (stringAt(options, "whenMatched") != "keepExisting" &&
            stringAt(options, "whenMatched") != "fail") {
            FRESHET_RETURN_IF_ERROR(authorize(call_, Action::kUpdate, to.db, to.collection));
        }
        FRESHET_RETURN_IF_ERROR(checkBypass(to));
        const bson::Element pipeline = options.find("whenMatched");
        return pipeline.isArray() ? checkStages(pipeline.document()) : Status::ok();
    }

    Status checkBypass(const Target& to) {
        return bypassesValidation_
                   ? authorize(call_, Action::kBypassDocumentValidation, to.db, to.collection)
                   : Status::ok();
    }

    Invocation& call_;
    const std::string_view db_;
    const bool bypassesValidation_;
};

Status authorizeUpserts(Invocation& call, std::string_view collection, bson::Document explained) {
    const bson::Element updates = explained.find("updates");
    bool inserts = explained.find("upsert").isTruthy();
    if (updates.isArray()) {
        for (const bson::Element& update : updates.document()) {
            inserts |= update.isObject() && update.document().find("upsert").isTruthy();
        }
    }
    return inserts ? authorize(call, Action::kInsert, call.generic.db, collection) : Status::ok();
}

}  // namespace

Status authorizeExplained(Invocation& call, const Command& command, bson::Document explained) {
    const bson::Element first = *explained.begin();
    const std::string_view collection = first.isString() ? first.stringValue() : std::string_view();
    const std::string_view db = call.generic.db;
    if (command.name == "aggregate") {
        const bson::Element pipeline = explained.find("pipeline");
        return PipelineAccess(call, db, explained.find("bypassDocumentValidation").isTruthy())
            .check(collection, pipeline.isArray() ? pipeline.document() : bson::Document());
    }
    if (command.name == "update" || command.name == "findAndModify") {
        const bool removes = explained.find("remove").isTruthy();
        if (command.name == "findAndModify") {
            FRESHET_RETURN_IF_ERROR(authorize(call, Action::kFind, db, collection));
        }
        FRESHET_RETURN_IF_ERROR(
            authorize(call, removes ? Action::kRemove : Action::kUpdate, db, collection));
        return authorizeUpserts(call, collection, explained);
    }
    if (command.access.scope == Access::Scope::kByHandler) {
        return authorize(call, Action::kFind, db, collection);
    }
    return authorize(call, command.access, db, collection);
}

}  // namespace freshet::command
