// SPDX-License-Identifier: Apache-2.0
/// What this server says it is: a standalone, or with ServerFacts::replicaSet the primary of a
/// replica set of which it is the only member, for drivers that do some things only there. Nothing
/// is replicated either way.
#pragma once

#include "freshet/command/run/invocation.h"

#include <string>

namespace freshet::command {

inline bool isReplicaSet(const Services& services) {
    return !services.facts.replicaSet.empty();
}

/// The member's address: the configured one, else the one at which the client reached us (with TLS
/// the name it called), so that it reaches us there again.
std::string memberAddress(const Invocation& call);

/// Of hello, and of serverStatus.repl: hosts, setName, primary, me, ...
void addMember(const Invocation& call, bson::Builder* out);

/// {ts, t}: now as a point in the log.
void addOpTime(std::string_view name, bson::Builder* out);
/// $clusterTime and operationTime, which close a member's replies.
void addClusterTime(bson::Builder* reply);

}  // namespace freshet::command
