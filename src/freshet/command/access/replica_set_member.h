// SPDX-License-Identifier: Apache-2.0
/// What this server reports to be: a standalone, or, with ServerFacts::replicaSet, the primary of a
/// replica set whose only member it is, for drivers that use some features only there. Nothing is
/// replicated in either case.
#pragma once

#include "freshet/command/run/invocation.h"

#include <string>

namespace freshet::command {

inline bool isReplicaSet(const Services& services) {
    return !services.facts.replicaSet.empty();
}

/// Which state of this run's topology it is: 0, and 1 from the beginning of the shutdown.
int64_t topologyCounter(const Services& services);
/// topologyVersion: {processId, counter}.
void addTopologyVersion(const Services& services, bson::Builder* out);

/// The member's address: the configured one, else the one at which the client reached us (with TLS
/// the name it asked for), so that the client can reach us there again.
std::string memberAddress(const Invocation& call);

/// For hello, and for serverStatus.repl: hosts, setName, primary, me, ...
void addMember(const Invocation& call, bson::Builder* out);

/// The current second as a point in the log. A single member is always up to date with itself:
/// whatever was acknowledged before is visible to later requests, so no time has to be waited for.
bson::Timestamp clusterTime();
/// {ts, t}: now as a point in the log.
void addOpTime(std::string_view name, bson::Builder* out);
/// $clusterTime and operationTime, the last fields of a member's replies.
void addClusterTime(bson::Builder* reply);

}  // namespace freshet::command
