// SPDX-License-Identifier: Apache-2.0
/// Logins: what the SASL commands and hello share.
#pragma once

#include "freshet/command/run/invocation.h"

#include <string>

namespace freshet::command {

/// Begins a login with the fields of a saslStart. Adds {conversationId, done, payload} to `reply`.
/// An error ends the login; its text is sent to the client.
sync::Task<Status> startLogin(Invocation& call,
                              std::string db,
                              bson::Document request,
                              bool isSpeculative,
                              bson::Builder* reply);

/// For hello: {saslSupportedMechs: "db.user"} and {speculativeAuthenticate: {...}}.
sync::Task<Status> addLoginFields(Invocation& call);

/// For connectionStatus.
void describeLogin(const Invocation& call, bool showPrivileges, bson::Builder* reply);

}  // namespace freshet::command
