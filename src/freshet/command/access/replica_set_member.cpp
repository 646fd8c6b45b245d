// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/access/replica_set_member.h"

#include "freshet/platform/clock.h"

#include <algorithm>
#include <iterator>

namespace freshet::command {
namespace {

constexpr int64_t kTerm = 1;
constexpr size_t kDigestBytes = 20;
constexpr uint32_t kNotPrimaryNoSecondaryOk = 13435;
constexpr uint32_t kNotWritablePrimary = 10107;

/// A client considers a primary stale if its id is lower than one it has seen; so the id is always
/// the same, like the term.
bson::ObjectId electionId() {
    bson::ObjectId id{};
    id.bytes[0] = 0x7f;
    id.bytes[1] = id.bytes[2] = id.bytes[3] = static_cast<char>(0xff);
    id.bytes[sizeof(id.bytes) - 1] = static_cast<char>(kTerm);
    return id;
}

/// Adds the field as it was given, or else its default.
template <typename Value>
void addOr(bson::Document given, std::string_view name, Value standard, bson::Builder* out) {
    const bson::Element element = given.find(name);
    if (element.isMissing()) {
        out->add(name, standard);
    } else {
        out->add(element);
    }
}

void addConfiguredMember(const Invocation& call, bson::Document given, bson::Builder* out) {
    addOr(given, "_id", int32_t{0}, out);
    out->add("host", memberAddress(call));
    out->add("arbiterOnly", false).add("buildIndexes", true).add("hidden", false);
    const bson::Element priority = given.find("priority");
    out->add("priority", priority.isNumber() ? priority.toDouble() : 1.0);
    addOr(given, "tags", bson::Document(), out);
    out->add("secondaryDelaySecs", int64_t{0}).add("votes", int32_t{1});
}

void addConfiguredSettings(bson::Document given, bson::Builder* out) {
    addOr(given, "chainingAllowed", true, out);
    addOr(given, "heartbeatIntervalMillis", int32_t{2'000}, out);
    addOr(given, "heartbeatTimeoutSecs", int32_t{10}, out);
    addOr(given, "electionTimeoutMillis", int32_t{10'000}, out);
    addOr(given, "catchUpTimeoutMillis", int32_t{-1}, out);
    addOr(given, "catchUpTakeoverDelayMillis", int32_t{30'000}, out);
    addOr(given, "getLastErrorModes", bson::Document(), out);
    out->object("getLastErrorDefaults").add("w", int32_t{1}).add("wtimeout", int32_t{0});
    if (const bson::Element id = given.find("replicaSetId"); !id.isMissing()) {
        out->add(id);
    }
}

/// Commands for databases and collections that a secondary does not serve: they write, or ...
bool isForPrimary(const Invocation& call) {
    constexpr std::string_view kOfTheSet[] = {
        "setDefaultRWConcern", "setFeatureCompatibilityVersion", "renameCollection"};
    constexpr std::string_view kOfTheMember[] = {"profile", "compact"};
    const auto has = [&](const auto& names) {
        return std::find(std::begin(names), std::end(names), call.command.name) != std::end(names);
    };
    const Access::Scope scope = call.command.access.scope;
    const bool isOnData = scope == Access::Scope::kDatabase ||
                          scope == Access::Scope::kCollection || scope == Access::Scope::kByHandler;
    return isWriter(call.command, call.body()) &&
           (has(kOfTheSet) || (isOnData && !has(kOfTheMember)));
}

/// ... they read, and their read preference does not allow for a secondary.
bool isForPrimaryUnlessAsked(const Invocation& call) {
    constexpr std::string_view kReads[] = {"aggregate",
                                           "collStats",
                                           "count",
                                           "dbStats",
                                           "distinct",
                                           "explain",
                                           "find",
                                           "listCollections",
                                           "listDatabases",
                                           "listIndexes",
                                           "mapReduce"};
    const bson::Element mode = call.body().findPath("$readPreference.mode");
    return std::find(std::begin(kReads), std::end(kReads), call.command.name) != std::end(kReads) &&
           (!mode.isString() || mode.stringValue() == "primary");
}

}  // namespace

Status checkRole(const Invocation& call) {
    if (call.services.member.isPrimary()) {
        return Status::ok();
    }
    if (isForPrimary(call)) {
        return invalid(location(kNotWritablePrimary), "not primary");
    }
    return isForPrimaryUnlessAsked(call)
               ? invalid(location(kNotPrimaryNoSecondaryOk), "not primary and secondaryOk=false")
               : Status::ok();
}

bson::OwnedDocument wholeConfig(const Invocation& call, bson::Document given) {
    bson::Builder out;
    out.add("_id", call.services.facts.replicaSet);
    const bson::Element version = given.find("version");
    out.add("version", version.isNumber() ? static_cast<int32_t>(version.toInt64()) : int32_t{1});
    out.add("term", static_cast<int32_t>(kTerm));
    {
        auto members = out.array("members");
        auto self = members.object("0");
        const bson::Element member = given.findPath("members.0");
        addConfiguredMember(call, member.isObject() ? member.document() : bson::Document(), &self);
    }
    addOr(given, "protocolVersion", int64_t{1}, &out);
    addOr(given, "writeConcernMajorityJournalDefault", true, &out);
    {
        auto settings = out.object("settings");
        const bson::Element those = given.find("settings");
        addConfiguredSettings(those.isObject() ? those.document() : bson::Document(), &settings);
    }
    return bson::OwnedDocument(out.finish());
}

bson::OwnedDocument configOf(const Invocation& call) {
    const MemberState::Config stored = call.services.member.config();
    return wholeConfig(call, stored == nullptr ? bson::Document() : stored->view());
}

bson::Timestamp clusterTime(const Services& services) {
    return {services.store.journal().now() - 1};
}

int64_t topologyCounter(const Services& services) {
    // [shutdown.topology] ORDER relaxed: only the flag itself counts.
    return services.member.changes() + (services.isShuttingDown.load(sync::kRelaxed) ? 1 : 0);
}

void addTopologyVersion(const Services& services, bson::Builder* out) {
    out->object("topologyVersion")
        .add("processId", services.processId)
        .add("counter", topologyCounter(services));
}

std::string memberAddress(const Invocation& call) {
    const ServerFacts& facts = call.services.facts;
    if (!facts.replicaSetHost.empty()) {
        return facts.replicaSetHost;
    }
    if (call.client.transport != "tcp") {
        return facts.host;
    }
    // Certificates contain names: a client would not accept ours for the address.
    const std::string& local = call.client.local;
    const std::string& name = call.client.serverName;
    return name.empty() ? local : name + local.substr(std::min(local.rfind(':'), local.size()));
}

void addMember(const Invocation& call, bson::Builder* out) {
    const std::string address = memberAddress(call);
    const MemberState& member = call.services.member;
    const bool isPrimary = member.isPrimary();
    const bson::OwnedDocument config = configOf(call);
    out->array("hosts").push(address);
    out->add("setName", call.services.facts.replicaSet);
    out->addAs("setVersion", config.view().find("version"));
    out->add("secondary", !isPrimary);
    if (isPrimary) {
        out->add("primary", address);
    }
    const bson::Element tags = config.view().findPath("members.0.tags");
    if (tags.isObject() && !tags.document().isEmpty()) {
        out->add(tags);
    }
    out->add("me", address);
    if (isPrimary) {
        out->add("electionId", electionId());
    }
    auto last = out->object("lastWrite");
    addOpTime(call.services, "opTime", &last);
    last.add("lastWriteDate", bson::Date{platform::wallMillis()});
    addOpTime(call.services, "majorityOpTime", &last);
    last.add("majorityWriteDate", bson::Date{platform::wallMillis()});
}

void addOpTime(const Services& services, std::string_view name, bson::Builder* out) {
    out->object(name).add("ts", clusterTime(services)).add("t", kTerm);
}

void addClusterTime(const Services& services, bson::Builder* reply) {
    const bson::Timestamp now = clusterTime(services);
    {
        auto shown = reply->object("$clusterTime");
        shown.add("clusterTime", now);
        shown.object("signature")
            .add("hash", bson::Binary{0, std::string(kDigestBytes, '\0')})
            .add("keyId", int64_t{0});
    }
    reply->add("operationTime", now);
}

}  // namespace freshet::command
