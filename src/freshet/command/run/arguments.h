// SPDX-License-Identifier: Apache-2.0
/// Generic arguments: what every command accepts besides its own fields ($db, lsid, writeConcern,
/// maxTimeMS ...), checked and reduced to what the server acts on. Pure; any thread.
#pragma once

#include "freshet/command/diag/concern_defaults.h"
#include "freshet/command/registry.h"
#include "freshet/command/run/fields.h"
#include "freshet/wire/message.h"

#include <optional>
#include <string>

namespace freshet::command {

struct GenericArguments {
    std::string db;
    /// A write is acknowledged when it is on stable storage; false: when it is in the log buffer.
    bool waitsForDisk = true;
    /// Not ok: the write concern cannot be fulfilled by this server; reported with the write's
    /// result.
    Status unmetConcern;
    /// Read concern majority and stronger: what was read must be durable before the reply.
    bool needsDurableRead = false;
    bool isLinearizable = false;  // the strongest of these
    bool readsSnapshot = false;   // read concern snapshot, outside of transactions
    /// Times of the log that the read concern names; 0: none.
    uint64_t afterClusterTime = 0;
    uint64_t atClusterTime = 0;
    uint64_t deadlineNanos = 0;  // on platform::monotonicNanos(); 0: none
    std::string lsid;            // the session's canonical name, see sessionName(); empty: none
    std::optional<int64_t> txnNumber;  // of a retryable write or of a transaction
    bool isInTransaction = false;      // a command of a multi-document transaction
    bool startsTransaction = false;    // its first one
    bool hasApiVersion = false;
    bool isApiStrict = false;  // nothing outside API Version 1 may be used
    bool asksForHelp = false;  // reply with the command's help text instead of running it
};

bool isGenericArgument(std::string_view name);
std::vector<std::string_view> genericArgumentNames();

/// An error when the body has a field that the command does not know.
Status checkKnownFields(const Command& command, const BodyIndex& body);

/// Checks the generic arguments, and that the body has no unknown field. Some arguments mean
/// something else to a member of a replica set than to a standalone. `defaults`: for commands
/// without concerns of their own.
StatusOr<GenericArguments> parseArguments(const Command& command,
                                          const wire::Request& request,
                                          const BodyIndex& body,
                                          bool isReplicaSet,
                                          const ConcernDefaults& defaults);

}  // namespace freshet::command
