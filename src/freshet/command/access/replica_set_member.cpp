// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/access/replica_set_member.h"

#include "freshet/platform/clock.h"

#include <algorithm>

namespace freshet::command {
namespace {

constexpr int64_t kTerm = 1;
constexpr int32_t kConfigVersion = 1;
constexpr size_t kDigestBytes = 20;

/// A client considers a primary stale if its id is lower than one it has seen; so the id is always
/// the same, like the term.
bson::ObjectId electionId() {
    bson::ObjectId id{};
    id.bytes[0] = 0x7f;
    id.bytes[1] = id.bytes[2] = id.bytes[3] = static_cast<char>(0xff);
    id.bytes[sizeof(id.bytes) - 1] = static_cast<char>(kTerm);
    return id;
}

}  // namespace

bson::Timestamp clusterTime() {
    return {static_cast<uint64_t>(platform::wallMillis() / 1000) << 32 | 1};
}

int64_t topologyCounter(const Services& services) {
    // [shutdown.topology] ORDER relaxed: only the flag itself counts.
    return services.isShuttingDown.load(sync::kRelaxed) ? 1 : 0;
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
    out->array("hosts").push(address);
    out->add("setName", call.services.facts.replicaSet).add("setVersion", kConfigVersion);
    out->add("secondary", false).add("primary", address).add("me", address);
    out->add("electionId", electionId());
    auto last = out->object("lastWrite");
    addOpTime("opTime", &last);
    last.add("lastWriteDate", bson::Date{platform::wallMillis()});
    addOpTime("majorityOpTime", &last);
    last.add("majorityWriteDate", bson::Date{platform::wallMillis()});
}

void addOpTime(std::string_view name, bson::Builder* out) {
    out->object(name).add("ts", clusterTime()).add("t", kTerm);
}

void addClusterTime(bson::Builder* reply) {
    const bson::Timestamp now = clusterTime();
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
