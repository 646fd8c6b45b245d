// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/diag/sources.h"

#include "freshet/command/access/authorize.h"
#include "freshet/command/diag/sizes.h"
#include "freshet/command/oplog/oplog_reads.h"
#include "freshet/platform/clock.h"

#include <algorithm>
#include <iterator>

namespace freshet::command {
namespace {

using Documents = std::vector<bson::OwnedDocument>;

constexpr size_t kSessionsListed = 100'000;

// ---- $currentOp

/// A flag of $currentOp, which has error texts of its own.
StatusOr<bool> currentOpFlag(bson::Document options, std::string_view name, bool fallback) {
    const bson::Element option = options.find(name);
    if (option.isMissing()) {
        return fallback;
    }
    return option.type() == bson::Type::kBool
               ? StatusOr<bool>(option.boolValue())
               : invalid(Reason::kFailedToParse,
                         "The '" + std::string(name) +
                             "' parameter of the $currentOp stage must be a boolean value, but "
                             "found: " +
                             std::string(bson::typeName(option.type())));
}

Status checkCurrentOp(const Invocation& call, const bson::Element& stage, bool hasCollection) {
    constexpr std::string_view kOptions[] = {"allUsers",
                                             "idleConnections",
                                             "idleCursors",
                                             "idleSessions",
                                             "localOps",
                                             "targetAllNodes",
                                             "truncateOps"};
    if (!stage.isObject()) {
        return invalid(Reason::kFailedToParse,
                       "$currentOp options must be specified in an object, but found: " +
                           std::string(bson::typeName(stage.type())));
    }
    if (call.generic.db != "admin" || hasCollection) {
        return invalid(Reason::kInvalidNamespace,
                       "$currentOp must be run against the 'admin' database with {aggregate: 1}");
    }
    for (const bson::Element& option : stage.document()) {
        if (std::find(std::begin(kOptions), std::end(kOptions), option.name()) ==
            std::end(kOptions)) {
            return invalid(
                Reason::kFailedToParse,
                "Unrecognized option '" + std::string(option.name()) + "' in $currentOp stage.");
        }
        FRESHET_RETURN_IF_ERROR(currentOpFlag(stage.document(), option.name(), false).status());
    }
    return Status::ok();
}

bson::OwnedDocument describeIdle(const CursorRegistry::Idle& idle, const std::string& host) {
    bson::Builder out;
    out.add("type", "idleCursor").add("host", host).add("ns", idle.ns);
    if (!idle.lsid.empty()) {
        out.add("lsid", bson::Document(idle.lsid.data()));
    }
    if (!idle.owner.empty()) {
        auto users = out.array("effectiveUsers");
        addUser(idle.owner, &users);
    }
    const uint64_t idleMs = (platform::monotonicNanos() - idle.idleSinceNanos) / 1'000'000;
    out.object("cursor")
        .add("cursorId", idle.id)
        .add("lastAccessDate", bson::Date{platform::wallMillis() - static_cast<int64_t>(idleMs)})
        .add("noCursorTimeout", idle.neverTimesOut)
        .add("tailable", idle.isTailable)
        .add("awaitData", idle.awaitsData);
    return bson::OwnedDocument(out.finish());
}

StatusOr<Documents> tellOfOperations(const Invocation& call, const bson::Element& stage) {
    ShowOperations show;
    FRESHET_ASSIGN_OR_RETURN(const bool allUsers,
                             currentOpFlag(stage.document(), "allUsers", false));
    FRESHET_ASSIGN_OR_RETURN(show.idleConnections,
                             currentOpFlag(stage.document(), "idleConnections", false));
    if (!allUsers) {
        show.owner = ownerOf(call);
    }
    Documents result = call.services.currentOperations(show);
    FRESHET_ASSIGN_OR_RETURN(const bool idleCursors,
                             currentOpFlag(stage.document(), "idleCursors", false));
    if (idleCursors) {
        for (const CursorRegistry::Idle& idle : call.services.cursors.idle()) {
            if (show.isOf(idle.owner)) {
                result.push_back(describeIdle(idle, call.services.facts.host));
            }
        }
    }
    return result;
}

// ---- $listLocalSessions

/// Whose sessions are wanted: digests as in sessions' names; nullopt: every user's.
StatusOr<std::optional<std::string>> sessionsOfWhom(const Invocation& call,
                                                    const bson::Element& stage) {
    if (!stage.isObject()) {
        return invalid(Reason::kTypeMismatch,
                       "$listLocalSessions options must be specified in an object, but found: " +
                           std::string(bson::typeName(stage.type())));
    }
    Fields fields(stage.document(), "$listLocalSessions");
    fields.allowOnly({"allUsers", "users"});
    const bool allUsers = fields.boolean("allUsers", false);
    fields.refuse({"users"});
    FRESHET_RETURN_IF_ERROR(fields.status());
    return allUsers || !call.services.facts.authEnabled ? std::optional<std::string>()
                                                        : std::optional<std::string>(ownerOf(call));
}

StatusOr<Documents> tellOfSessions(Invocation& call,
                                   const bson::Element& stage,
                                   bool hasCollection) {
    if (hasCollection) {
        return invalid(Reason::kInvalidNamespace,
                       "$listLocalSessions must be run against the database with {aggregate: 1}, "
                       "not a collection");
    }
    FRESHET_ASSIGN_OR_RETURN(const auto whose, sessionsOfWhom(call, stage));
    Documents result;
    for (const LogicalSessions::Listed& session : call.services.sessions.list(kSessionsListed)) {
        if (!whose.has_value() || isOwnSession(call.login, session.name)) {
            bson::Builder out;
            out.add("_id", bson::Document(session.name.data()));
            out.add("lastUse", bson::Date{session.lastUseWallMs});
            result.emplace_back(out.finish());
        }
    }
    return result;
}

// ---- $indexStats

StatusOr<Documents> tellOfIndexes(Invocation& call,
                                  const bson::Element& stage,
                                  const std::string& collection) {
    if (!stage.isObject() || !stage.document().isEmpty()) {
        return invalid(location(28803),
                       "The $indexStats stage specification must be an empty object");
    }
    const Services& services = call.services;
    const catalog::CollectionRef found = services.catalog.find(call.generic.db, collection);
    const Top top = services.statistics.topOf(call.ns(collection));
    Documents result;
    for (size_t i = 0; found != nullptr && i < found->indexes.size(); ++i) {
        const catalog::Index& index = *found->indexes[i];
        bson::Builder out;
        out.add("name", index.name).add("key", index.spec.view().find("key").document());
        out.add("host", services.facts.host);
        out.object("accesses")
            .add("ops", static_cast<int64_t>(top.usesOf(index.treeId)))
            .add("since", bson::Date{services.facts.startedWallMs});
        out.add("spec", index.spec.view());
        result.emplace_back(out.finish());
    }
    return result;
}

// ---- $collStats

struct CollStatsParts {
    bool latency = false;
    bool count = false;
    bool storage = false;
    int64_t scale = 1;
};

StatusOr<CollStatsParts> parseCollStats(const bson::Element& stage) {
    if (!stage.isObject()) {
        return invalid(location(5447000),
                       "$collStats must take a nested object but found: " +
                           std::string(bson::typeName(stage.type())));
    }
    Fields fields(stage.document(), "$collStats");
    fields.allowOnly({"latencyStats", "count", "storageStats", "queryExecStats"});
    CollStatsParts parts;
    parts.latency = fields.has("latencyStats");
    parts.count = fields.has("count");
    parts.storage = fields.has("storageStats");
    const bson::Document latency = fields.object("latencyStats");
    const bson::Document storage = fields.object("storageStats");
    fields.object("count");
    fields.refuse({"queryExecStats"});
    FRESHET_RETURN_IF_ERROR(fields.status());
    Fields latencyFields(latency, "$collStats.latencyStats");
    latencyFields.allowOnly({"histograms"});
    if (latencyFields.boolean("histograms", false)) {
        latencyFields.fail(Status(Code::kUnsupported, "histograms of latencies are not kept"));
    }
    FRESHET_RETURN_IF_ERROR(latencyFields.status());
    Fields storageFields(storage, "$collStats.storageStats");
    storageFields.allowOnly({"scale", "verbose", "waitForLock", "numericOnly"});
    FRESHET_ASSIGN_OR_RETURN(parts.scale, scaleOf(&storageFields));
    return parts;
}

void addLatency(const Top& top, bson::Builder* out) {
    constexpr std::pair<std::string_view, LatencyClass> kClasses[] = {
        {"reads", LatencyClass::kReads},
        {"writes", LatencyClass::kWrites},
        {"commands", LatencyClass::kCommands}};
    auto all = out->object("latencyStats");
    for (const auto& [name, kind] : kClasses) {
        const Effort& effort = top.of(kind);
        all.object(name)
            .add("latency", static_cast<int64_t>(effort.micros))
            .add("ops", static_cast<int64_t>(effort.count));
    }
    all.object("transactions").add("latency", int64_t{0}).add("ops", int64_t{0});
}

Status collectionMissing(std::string_view part, const std::string& ns) {
    return invalid(Reason::kNamespaceNotFound,
                   "Unable to retrieve " + std::string(part) +
                       " in $collStats stage :: caused by :: Collection [" + ns + "] not found.");
}

sync::Task<StatusOr<Documents>> tellOfCollection(Invocation& call,
                                                 bson::Element stage,
                                                 std::string collection) {
    StatusOr<CollStatsParts> parts = parseCollStats(stage);
    if (!parts.isOk()) {
        co_return parts.status();
    }
    catalog::CollectionRef found = call.services.catalog.find(call.generic.db, collection);
    CollectionSizes sizes;
    const bool isOfOplog = isOplog(call.services, call.generic.db, collection);
    if (isOfOplog && parts->count) {
        StatusOr<int64_t> count = co_await countInOplog(call, {});
        if (!count.isOk()) {
            co_return count.status();
        }
        sizes.count = *count;
    }
    if (!isOfOplog && (parts->storage || parts->count)) {
        if (found == nullptr) {
            co_return collectionMissing(parts->storage ? "storageStats" : "count",
                                        call.ns(collection));
        }
        StatusOr<CollectionSizes> measured =
            co_await measure(call, std::move(found), parts->storage);
        if (!measured.isOk()) {
            co_return measured.status();
        }
        sizes = std::move(*measured);
    }
    bson::Builder out;
    out.add("ns", call.ns(collection)).add("host", call.services.facts.host);
    out.add("localTime", bson::Date{platform::wallMillis()});
    if (parts->latency) {
        addLatency(call.services.statistics.topOf(call.ns(collection)), &out);
    }
    if (parts->storage) {
        auto storage = out.object("storageStats");
        if (isOfOplog) {
            addOplogStats(call.services, parts->scale, &storage);
        } else {
            addStorageStats(sizes, parts->scale, &storage);
        }
    }
    if (parts->count) {
        out.add("count", sizes.count);
    }
    Documents result;
    result.emplace_back(out.finish());
    co_return result;
}

}  // namespace

sync::Task<StatusOr<Documents>> reportOnServer(Invocation& call,
                                               bson::Element stage,
                                               std::string collection) {
    if (stage.name() == "$currentOp") {
        const Status status = checkCurrentOp(call, stage, !collection.empty());
        co_return status.isOk() ? tellOfOperations(call, stage) : StatusOr<Documents>(status);
    }
    if (stage.name() == "$listLocalSessions") {
        co_return tellOfSessions(call, stage, !collection.empty());
    }
    if (stage.name() == "$indexStats") {
        co_return tellOfIndexes(call, stage, collection);
    }
    co_return co_await tellOfCollection(call, stage, std::move(collection));
}

}  // namespace freshet::command
