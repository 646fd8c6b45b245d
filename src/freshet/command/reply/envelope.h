// SPDX-License-Identifier: Apache-2.0
/// The envelope: the fields of a reply that do not come from its command. Every reply's are made
/// here: those of commands, of prepared finds, and of requests that reach no command. Belongs to
/// the connection's executor.
#pragma once

#include "freshet/command/run/services.h"

#include <string>

namespace freshet::command {

/// The last fields of a reply without an error: ok and, from a replica set's member, the cluster
/// time.
void addOk(const Services& services, bson::Builder* reply);

struct ErrorReply {
    const Status& status;
    bson::Document info{};  // further fields: {keyPattern, keyValue}
};

/// Turns an unsealed OP_MSG into an error reply, whatever it contained before.
void setError(const Services& services, const ErrorReply& error, std::string* message);

}  // namespace freshet::command
