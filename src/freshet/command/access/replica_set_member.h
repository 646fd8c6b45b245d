// SPDX-License-Identifier: Apache-2.0
/// What this server reports to be: a standalone, or, with ServerFacts::replicaSet, the primary of a
/// replica set whose only member it is, for drivers that use some features only there. Nothing is
/// replicated in either case. diag/member_state.h has what can change.
#pragma once

#include "freshet/command/run/invocation.h"

#include <string>

namespace freshet::command {

inline bool isReplicaSet(const Services& services) {
    return !services.facts.replicaSet.empty();
}

/// Which state of this run's topology it is: rises with each change of the member's role or
/// configuration, and with the beginning of the shutdown.
int64_t topologyCounter(const Services& services);
/// topologyVersion: {processId, counter}.
void addTopologyVersion(const Services& services, bson::Builder* out);

/// The member's address: the configured one, else the one at which the client reached us (with TLS
/// the name it asked for), so that the client can reach us there again.
std::string memberAddress(const Invocation& call);

/// An error when this member is not primary and the command is for a primary: one that writes, or
/// one that reads without a read preference for secondaries.
Status checkRole(const Invocation& call);

/// The set's configuration from what a client gives of it, with defaults for the rest. The host is
/// always memberAddress().
bson::OwnedDocument wholeConfig(const Invocation& call, bson::Document given);
/// The current one.
bson::OwnedDocument configOf(const Invocation& call);

/// For hello, and for serverStatus.repl: hosts, setName, primary, me, ...
void addMember(const Invocation& call, bson::Builder* out);

/// The log's time: not below the timestamp of any record so far, and below those of all records to
/// come. A single member is always up to date with itself: whatever was acknowledged before is
/// visible to later requests, so no time has to be waited for.
bson::Timestamp clusterTime(const Services& services);
/// {ts, t}: now as a point in the log.
void addOpTime(const Services& services, std::string_view name, bson::Builder* out);
/// $clusterTime and operationTime, the last fields of a member's replies.
void addClusterTime(const Services& services, bson::Builder* reply);

}  // namespace freshet::command
