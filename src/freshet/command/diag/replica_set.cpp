// SPDX-License-Identifier: Apache-2.0
/// The replSet commands, for a set with only this member. The set exists from the start: initiating
/// it with an equivalent configuration succeeds at once.
#include "freshet/command/access/replica_set_member.h"
#include "freshet/command/run/tables.h"
#include "freshet/platform/clock.h"

namespace freshet::command {
namespace {

constexpr int32_t kPrimary = 1;  // a member's state

void addSelf(const Invocation& call, bson::Builder* list) {
    const ServerFacts& facts = call.services.facts;
    auto self = list->object(list->nextIndex());
    self.add("_id", int32_t{0}).add("name", memberAddress(call)).add("health", 1.0);
    self.add("state", kPrimary).add("stateStr", "PRIMARY");
    self.add("uptime",
             static_cast<int32_t>((platform::wallMillis() - facts.startedWallMs) / 1'000));
    addOpTime("optime", &self);
    self.add("optimeDate", bson::Date{platform::wallMillis()});
    self.add("lastAppliedWallTime", bson::Date{platform::wallMillis()});
    self.add("lastDurableWallTime", bson::Date{platform::wallMillis()});
    self.add("syncSourceHost", "").add("syncSourceId", int32_t{-1}).add("infoMessage", "");
    self.add("electionTime",
             bson::Timestamp{static_cast<uint64_t>(facts.startedWallMs / 1'000) << 32 | 1});
    self.add("electionDate", bson::Date{facts.startedWallMs});
    self.add("configVersion", int32_t{1}).add("configTerm", int32_t{1});
    self.add("self", true).add("lastHeartbeatMessage", "");
}

sync::Task<Status> runGetStatus(Invocation& call) {
    bson::Builder& reply = call.reply;
    reply.add("set", call.services.facts.replicaSet);
    reply.add("date", bson::Date{platform::wallMillis()}).add("myState", kPrimary);
    reply.add("term", int64_t{1}).add("syncSourceHost", "").add("syncSourceId", int32_t{-1});
    reply.add("heartbeatIntervalMillis", int64_t{2'000}).add("majorityVoteCount", int32_t{1});
    reply.add("writeMajorityCount", int32_t{1}).add("votingMembersCount", int32_t{1});
    reply.add("writableVotingMembersCount", int32_t{1});
    {
        auto times = reply.object("optimes");
        addOpTime("lastCommittedOpTime", &times);
        times.add("lastCommittedWallTime", bson::Date{platform::wallMillis()});
        addOpTime("readConcernMajorityOpTime", &times);
        addOpTime("appliedOpTime", &times);
        addOpTime("durableOpTime", &times);
        times.add("lastAppliedWallTime", bson::Date{platform::wallMillis()});
        times.add("lastDurableWallTime", bson::Date{platform::wallMillis()});
    }
    auto members = reply.array("members");
    addSelf(call, &members);
    co_return Status::ok();
}

sync::Task<Status> runGetConfig(Invocation& call) {
    auto config = call.reply.object("config");
    config.add("_id", call.services.facts.replicaSet).add("version", int32_t{1});
    config.add("term", int32_t{1});
    {
        auto members = config.array("members");
        auto self = members.object("0");
        self.add("_id", int32_t{0}).add("host", memberAddress(call));
        self.add("arbiterOnly", false).add("buildIndexes", true).add("hidden", false);
        self.add("priority", 1.0);
        self.object("tags");
        self.add("secondaryDelaySecs", int64_t{0}).add("votes", int32_t{1});
    }
    config.add("protocolVersion", int64_t{1}).add("writeConcernMajorityJournalDefault", true);
    auto settings = config.object("settings");
    settings.add("chainingAllowed", true).add("heartbeatIntervalMillis", int32_t{2'000});
    settings.add("heartbeatTimeoutSecs", int32_t{10});
    settings.add("electionTimeoutMillis", int32_t{10'000});
    settings.object("getLastErrorModes");
    settings.object("getLastErrorDefaults").add("w", int32_t{1}).add("wtimeout", int32_t{0});
    co_return Status::ok();
}

/// Ok when the configuration is that of this set, or is empty.
Status checkConfig(const Invocation& call) {
    Fields fields(call.body(), call.command.name);
    const bson::Element config = fields.element(call.command.name);
    if (!config.isObject() || config.document().isEmpty()) {
        return Status::ok();
    }
    const bson::Element name = config.document().find("_id");
    const std::string& ours = call.services.facts.replicaSet;
    if (!name.isString() || name.stringValue() != ours) {
        return invalid(Reason::kInvalidReplicaSetConfig,
                       "Attempting to initiate a replica set with name " +
                           std::string(name.isString() ? name.stringValue() : "") +
                           ", but command line reports " + ours + "; rejecting");
    }
    const bson::Element members = config.document().find("members");
    if (members && (!members.isArray() || members.document().fieldCount() != 1)) {
        return invalid(Reason::kInvalidReplicaSetConfig,
                       "This server is the only member of its replica set; it replicates to "
                       "nobody");
    }
    return Status::ok();
}

sync::Task<Status> runConfigure(Invocation& call) {
    co_return checkConfig(call);
}

sync::Task<Status> runStepDown(Invocation&) {
    co_return invalid(Reason::kExceededTimeLimit,
                      "No electable secondaries caught up: this server is the only member");
}

sync::Task<Status> runNotAsPrimary(Invocation& call) {
    co_return invalid(Reason::kNotSecondary,
                      std::string(call.command.name) + ": not while this member is primary");
}

/// kHandler when the server is a member of a set.
template <Handler kHandler>
sync::Task<Status> asMember(Invocation& call) {
    if (!isReplicaSet(call.services)) {
        co_return invalid(Reason::kNoReplicationEnabled, "not running with --replSet");
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
                          asMember<runConfigure>,
                          Action::kReplSetConfigure),
        replicaSetCommand("replSetReconfig",
                          "of replica sets with more members",
                          asMember<runConfigure>,
                          Action::kReplSetConfigure),
        replicaSetCommand("replSetStepDown",
                          "of replica sets with more members",
                          asMember<runStepDown>,
                          Action::kReplSetStateChange),
        replicaSetCommand("replSetFreeze",
                          "of replica sets with more members",
                          asMember<runNotAsPrimary>,
                          Action::kReplSetStateChange),
        replicaSetCommand("replSetMaintenance",
                          "of replica sets with more members",
                          asMember<runNotAsPrimary>,
                          Action::kReplSetStateChange),
    };
}

}  // namespace freshet::command
