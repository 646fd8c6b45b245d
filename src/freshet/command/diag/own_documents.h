// SPDX-License-Identifier: Apache-2.0
/// Documents that the server itself keeps in `admin`, `config` and `local`: what it did at its
/// start, its feature compatibility version, the set's configuration, the default concerns.
#pragma once

#include "freshet/command/run/invocation.h"

#include <string>

namespace freshet::command {

/// Where such a document is.
struct OwnPlace {
    std::string db;
    std::string collection;
};

inline const OwnPlace kVersionPlace{"admin", "system.version"};
inline const OwnPlace kSettingsPlace{"config", "settings"};
inline const OwnPlace kReplicaSetPlace{"local", "system.replset"};
inline const OwnPlace kStartPlace{"local", "startup_log"};

inline constexpr const char* kConcernDefaultsId = "ReadWriteConcernDefaults";
inline constexpr const char* kCompatibilityId = "featureCompatibilityVersion";

/// The feature compatibility version, the only one there is: "8.0".
std::string compatibilityVersion(const Services& services);

/// Replaces the document with this _id or adds it; it is durable afterwards. Not interrupted.
sync::Task<Status> storeOwn(Invocation& call, OwnPlace place, bson::OwnedDocument document);

/// Takes over what an earlier run has stored: the configuration and the default concerns. Called at
/// the start; blocks.
void loadOwn(Services& services);
/// Writes what every start leaves behind; blocks. A failure is logged only: a server that cannot
/// write can still be read.
void recordStart(Services& services);

/// The fields of buildInfo's reply.
void addBuildInfo(const ServerFacts& facts, bson::Builder* out);

}  // namespace freshet::command
