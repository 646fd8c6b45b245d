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
    bson::Document request{};  // its body; empty: it cannot be parsed
    bson::Document info{};     // further fields: {keyPattern, keyValue, writeConcernError}
    bool hasLabels = false;    // fail points have said which: `info` has them, or there are none
    bool isOfChangeStream = false;
};

enum class ErrorOf : uint8_t { kCommand, kWriteConcern };

/// Adds the labels of an error to the reply, but for those of change streams. RetryableWriteError
/// tells drivers that they may send the request, a retryable write or the end of a transaction,
/// again; TransientTransactionError, only of a command's error, that they may try the whole
/// transaction again.
void addErrorLabels(int32_t code, ErrorOf whose, bson::Document request, bson::Builder* reply);
/// Adds the topologyVersion if the error says that a replica set's member cannot write now: drivers
/// compare it with the last hello's to find out whether the error is news.
void addErrorTopology(const Services& services, int32_t code, bson::Builder* reply);

/// Turns an unsealed OP_MSG into an error reply, whatever it contained before.
void setError(const Services& services, const ErrorReply& error, std::string* message);

}  // namespace freshet::command
