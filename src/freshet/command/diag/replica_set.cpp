// SPDX-License-Identifier: Apache-2.0
/// The replSet commands, for a set with only this member.
#include "freshet/command/access/replica_set_member.h"
#include "freshet/command/diag/own_documents.h"
#include "freshet/command/run/tables.h"
#include "freshet/platform/clock.h"
#include "freshet/telemetry/log.h"

#include <algorithm>

namespace freshet::command {
namespace {

constexpr int32_t kPrimary = 1;  // a member's state
constexpr int32_t kSecondary = 2;
constexpr uint32_t kNotWritablePrimary = 10107;
constexpr uint32_t kIncompatible = 103;
constexpr uint32_t kAlreadyInitialized = 23;
constexpr int64_t kStepDownSeconds = 60;
constexpr int64_t kSecondsMax = 100LL * 365 * 24 * 3'600;
/// By how much a forced configuration is newer than the others that a client may have seen.
constexpr int64_t kForcedStep = 10'000;

uint64_t nanosOf(int64_t seconds) {
    return static_cast<uint64_t>(std::min(seconds, kSecondsMax)) * 1'000'000'000;
}

void addSelf(const Invocation& call, bson::Builder* list) {
    const ServerFacts& facts = call.services.facts;
    auto self = list->object(list->nextIndex());
    self.add("_id", int32_t{0}).add("name", memberAddress(call)).add("health", 1.0);
    const bool isPrimary = call.services.member.isPrimary();
    self.add("state", isPrimary ? kPrimary : kSecondary);
    self.add("stateStr", isPrimary ? "PRIMARY" : "SECONDARY");
    self.add("uptime",
             static_cast<int32_t>((platform::wallMillis() - facts.startedWallMs) / 1'000));
    addOpTime(call.services, "optime", &self);
    self.add("optimeDate", bson::Date{platform::wallMillis()});
    self.add("lastAppliedWallTime", bson::Date{platform::wallMillis()});
    self.add("lastDurableWallTime", bson::Date{platform::wallMillis()});
    self.add("syncSourceHost", "").add("syncSourceId", int32_t{-1}).add("infoMessage", "");
    if (isPrimary) {
        self.add("electionTime",
                 bson::Timestamp{static_cast<uint64_t>(facts.startedWallMs / 1'000) << 32 | 1});
        self.add("electionDate", bson::Date{facts.startedWallMs});
    }
    const bson::OwnedDocument config = configOf(call);
    self.addAs("configVersion", config.view().find("version")).add("configTerm", int32_t{1});
    self.add("self", true).add("lastHeartbeatMessage", "");
}

sync::Task<Status> runGetStatus(Invocation& call) {
    bson::Builder& reply = call.reply;
    reply.add("set", call.services.facts.replicaSet);
    reply.add("date", bson::Date{platform::wallMillis()})
        .add("myState", call.services.member.isPrimary() ? kPrimary : kSecondary);
    reply.add("term", int64_t{1}).add("syncSourceHost", "").add("syncSourceId", int32_t{-1});
    reply.add("heartbeatIntervalMillis", int64_t{2'000}).add("majorityVoteCount", int32_t{1});
    reply.add("writeMajorityCount", int32_t{1}).add("votingMembersCount", int32_t{1});
    reply.add("writableVotingMembersCount", int32_t{1});
    {
        auto times = reply.object("optimes");
        addOpTime(call.services, "lastCommittedOpTime", &times);
        times.add("lastCommittedWallTime", bson::Date{platform::wallMillis()});
        addOpTime(call.services, "readConcernMajorityOpTime", &times);
        addOpTime(call.services, "appliedOpTime", &times);
        addOpTime(call.services, "durableOpTime", &times);
        times.add("lastAppliedWallTime", bson::Date{platform::wallMillis()});
        times.add("lastDurableWallTime", bson::Date{platform::wallMillis()});
    }
    auto members = reply.array("members");
    addSelf(call, &members);
    co_return Status::ok();
}

sync::Task<Status> runGetConfig(Invocation& call) {
    Fields fields(call.body(), "replSetGetConfig");
    const bool wantsCommitment = fields.boolean("commitmentStatus", false);
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    call.reply.add("config", configOf(call).view());
    if (wantsCommitment) {
        call.reply.add("commitmentStatus", true);
    }
    co_return Status::ok();
}

Status badConfig(std::string text) {
    return invalid(Reason::kInvalidReplicaSetConfig, std::move(text));
}

/// A configuration must be this set's, with this server as its only member.
Status checkConfig(const Invocation& call, bson::Document config, std::string_view action) {
    const bson::Element name = config.find("_id");
    const std::string& ours = call.services.facts.replicaSet;
    if (!name.isString() || name.stringValue() != ours) {
        return badConfig("Attempting to " + std::string(action) + " a replica set with name " +
                         std::string(name.isString() ? name.stringValue() : "") +
                         ", but command line reports " + ours + "; rejecting");
    }
    const bson::Element version = config.find("version");
    if (version &&
        (!version.isNumber() || version.toInt64() < 1 || version.toInt64() > INT32_MAX)) {
        return badConfig("version field value is out of range");
    }
    const bson::Element members = config.find("members");
    if (members.isMissing()) {
        return Status::ok();
    }
    if (!members.isArray() || members.document().fieldCount() != 1 ||
        !members.document().begin()->isObject()) {
        return badConfig(
            "This server is the only member of its replica set; it replicates to "
            "nobody");
    }
    const bson::Document self = members.document().begin()->document();
    const bson::Element priority = self.find("priority");
    const bson::Element votes = self.find("votes");
    if (self.find("arbiterOnly").isTruthy() || self.find("hidden").isTruthy() ||
        (priority && priority.toDouble() <= 0) || (votes && votes.toInt64() != 1)) {
        return badConfig(
            "Replica set configuration must contain at least one non-arbiter member "
            "with priority > 0");
    }
    for (const char* object : {"tags", "settings"}) {
        const bson::Element found =
            object == std::string_view("tags") ? self.find(object) : config.find(object);
        if (found && !found.isObject()) {
            return badConfig("\"" + std::string(object) + "\" had the wrong type. Expected object");
        }
    }
    return Status::ok();
}

/// Makes it the set's configuration, also for later starts.
sync::Task<Status> install(Invocation& call, bson::Document given, int64_t version) {
    bson::Builder wanted;
    wanted.add("version", static_cast<int32_t>(std::min<int64_t>(version, INT32_MAX)));
    for (const bson::Element& field : given) {
        if (field.name() != "version" && field.name() != "settings") {
            wanted.add(field);
        }
    }
    {
        const bson::Element settings = given.find("settings");
        const bson::OwnedDocument current = configOf(call);
        const bson::Element id = current.view().findPath("settings.replicaSetId");
        auto all = wanted.object("settings");
        if (id.isMissing()) {
            all.add("replicaSetId", bson::ObjectId::generate());
        } else {
            all.add(id);
        }
        for (const bson::Element& field :
             settings.isObject() ? settings.document() : bson::Document()) {
            if (field.name() != "replicaSetId") {
                all.add(field);
            }
        }
    }
    const bson::OwnedDocument document(wanted.finish());
    bson::OwnedDocument whole = wholeConfig(call, document.view());
    const Status stored = co_await storeOwn(call, kReplicaSetPlace, whole);
    FRESHET_CO_RETURN_IF_ERROR(stored);
    call.services.member.setConfig(std::move(whole));
    co_return Status::ok();
}

/// The set exists from the start, but a set-up script may initiate it once, as any other.
sync::Task<Status> runInitiate(Invocation& call) {
    if (call.services.member.config() != nullptr) {
        co_return invalid(location(kAlreadyInitialized), "already initialized");
    }
    const bson::Element element = *call.body().begin();
    const bson::Document config = element.isObject() ? element.document() : bson::Document();
    if (config.isEmpty()) {
        call.reply.add("info2",
                       "no configuration specified. Using a default configuration for the set");
        call.reply.add("me", memberAddress(call));
    } else {
        FRESHET_CO_RETURN_IF_ERROR(checkConfig(call, config, "initiate"));
    }
    const bson::Element version = config.find("version");
    co_return co_await install(call, config, version.isNumber() ? version.toInt64() : 1);
}

std::string versionText(int64_t version) {
    return "{version: " + std::to_string(version) + ", term: 1}";
}

sync::Task<Status> runReconfigure(Invocation& call) {
    const bson::Element element = *call.body().begin();
    if (!element.isObject()) {
        co_return badConfig("no configuration specified");
    }
    const bool isForced = call.body().find("force").isTruthy();
    if (!isForced && !call.services.member.isPrimary()) {
        co_return invalid(location(kNotWritablePrimary),
                          "Safe reconfig is only allowed on a writable PRIMARY. Current state "
                          "SECONDARY");
    }
    const bson::Document config = element.document();
    FRESHET_CO_RETURN_IF_ERROR(checkConfig(call, config, "reconfigure"));
    const bson::OwnedDocument current = configOf(call);
    const int64_t old = current.view().find("version").toInt64();
    const bson::Element given = config.find("version");
    int64_t version = given.isNumber() ? given.toInt64() : 1;
    if (isForced) {
        version = std::max(old, version) + kForcedStep;
    } else if (version <= old) {
        co_return invalid(location(kIncompatible),
                          "New replica set configuration version and term must be greater than "
                          "old, but " +
                              versionText(version) + " is not greater than " + versionText(old) +
                              " for replica set " + call.services.facts.replicaSet);
    }
    co_return co_await install(call, config, version);
}

/// Without `force` it would wait for another member, and there is none.
sync::Task<Status> runStepDown(Invocation& call) {
    Fields fields(call.body(), "replSetStepDown");
    const bool isForced = call.body().find("force").isTruthy();
    const bson::Element given = *call.body().begin();
    int64_t seconds = given.isNumber() ? given.toInt64() : 0;
    const int64_t catchUp = fields.integer("secondaryCatchUpPeriodSecs", isForced ? 0 : 10);
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    if (seconds < 0) {
        co_return badValue("stepdown period must be a positive integer");
    }
    if (catchUp < 0) {
        co_return badValue("secondaryCatchUpPeriodSecs period must be a positive or absent");
    }
    seconds = seconds == 0 ? kStepDownSeconds : seconds;
    if (seconds < catchUp) {
        co_return badValue("stepdown period must be longer than secondaryCatchUpPeriodSecs");
    }
    if (!call.services.member.isPrimary()) {
        co_return invalid(location(kNotWritablePrimary), "not primary so can't step down");
    }
    if (!isForced) {
        co_return invalid(Reason::kExceededTimeLimit,
                          "No electable secondaries caught up. Please use the replSetStepDown "
                          "command with the argument {force: true} to force node to step down.");
    }
    call.services.member.stepDown(nanosOf(seconds));
    telemetry::logWarning(
        "command", "Stepped down for " + std::to_string(seconds) + " seconds, as a client asked");
    co_return Status::ok();
}

sync::Task<Status> runFreeze(Invocation& call) {
    const bson::Element given = *call.body().begin();
    const int64_t seconds = given.isNumber() ? std::max<int64_t>(0, given.toInt64()) : 0;
    if (!call.services.member.freeze(nanosOf(seconds))) {
        co_return invalid(Reason::kNotSecondary,
                          "Cannot freeze node when primary or running for election, state: "
                          "Primary");
    }
    if (seconds == 0) {
        call.reply.add("info", "unfreezing");
    } else if (seconds == 1) {
        call.reply.add("warning", "you really want to freeze for only 1 second?");
    }
    co_return Status::ok();
}

sync::Task<Status> runMaintenance(Invocation&) {
    co_return invalid(Reason::kNotSecondary, "primaries can't modify maintenance mode");
}

/// kHandler when the server is a member of a set.
template <Handler kHandler>
sync::Task<Status> asMember(Invocation& call) {
    if (!isReplicaSet(call.services)) {
        co_return invalid(Reason::kNoReplicationEnabled,
                          call.command.name == "replSetInitiate"
                              ? "This node was not started with replication enabled."
                              : "not running with --replSet");
    }
    Status status = co_await kHandler(call);
    co_return status;
}

Command replicaSetCommand(std::string_view name,
                          std::string_view help,
                          Handler handler,
                          Action action) {
    return {
        .name = name,
        .aliases = {},
        .help = help,
        .fields = {},
        .handler = handler,
        .access = Access::onCluster(action),
        .acceptsUnknownFields = true,
        .adminOnly = true,
        .readOnly = true,
    };
}

}  // namespace

CommandTable replicaSetCommands() {
    return {
        replicaSetCommand("replSetGetStatus",
                          "the replica set's state",
                          asMember<runGetStatus>,
                          Action::kReplSetGetStatus),
        replicaSetCommand("replSetGetConfig",
                          "the replica set's configuration",
                          asMember<runGetConfig>,
                          Action::kReplSetGetConfig),
        replicaSetCommand("replSetInitiate",
                          "begin a replica set of this member alone",
                          asMember<runInitiate>,
                          Action::kReplSetConfigure),
        replicaSetCommand("replSetReconfig",
                          "change the replica set's configuration",
                          asMember<runReconfigure>,
                          Action::kReplSetConfigure),
        replicaSetCommand("replSetStepDown",
                          "be a secondary for a while",
                          asMember<runStepDown>,
                          Action::kReplSetStateChange),
        replicaSetCommand("replSetFreeze",
                          "remain a secondary for longer, or become primary now",
                          asMember<runFreeze>,
                          Action::kReplSetStateChange),
        replicaSetCommand("replSetMaintenance",
                          "of replica sets with more members",
                          asMember<runMaintenance>,
                          Action::kReplSetStateChange),
    };
}

}  // namespace freshet::command
