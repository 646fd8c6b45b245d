// SPDX-License-Identifier: Apache-2.0
/// Logical sessions. Until transactions come, a session is no more than a name that cursors carry:
/// ending it ends them.
#include "freshet/command/run/invocation.h"
#include "freshet/command/run/tables.h"
#include "freshet/platform/thread.h"

#include <unordered_set>

namespace freshet::command {
namespace {

constexpr size_t kSessionsMax = 10'000;  // in one command, as drivers send them

std::string randomUuid() {
    std::string bytes;
    appendLe(bytes, platform::randomSeed());
    appendLe(bytes, platform::randomSeed());
    bytes[6] = static_cast<char>((bytes[6] & 0x0f) | 0x40);  // version 4
    bytes[8] = static_cast<char>((bytes[8] & 0x3f) | 0x80);  // RFC 4122 variant
    return bytes;
}

StatusOr<std::vector<bson::Document>> sessionsOf(const Invocation& call) {
    Fields fields(call.body(), call.command.name);
    std::vector<bson::Document> sessions = fields.objects(call.body().begin()->name());
    FRESHET_RETURN_IF_ERROR(fields.status());
    if (sessions.size() > kSessionsMax) {
        return invalid(Reason::kInvalidLength, "Too many sessions in one command");
    }
    return sessions;
}

sync::Task<Status> runStartSession(Invocation& call) {
    {
        auto id = call.reply.object("id");
        const std::string uuid = randomUuid();
        id.add("id", bson::Binary{4, uuid});
    }
    call.reply.add("timeoutMinutes", call.services.sessionTimeoutMinutes());
    co_return Status::ok();
}

sync::Task<Status> runEndSessions(Invocation& call) {
    StatusOr<std::vector<bson::Document>> sessions = sessionsOf(call);
    FRESHET_CO_RETURN_IF_ERROR(sessions.status());
    std::unordered_set<std::string> lsids;
    for (bson::Document session : *sessions) {
        lsids.emplace(session.bytes());
    }
    call.services.cursors.killSessions(lsids);
    co_return Status::ok();
}

sync::Task<Status> runRefreshSessions(Invocation& call) {
    StatusOr<std::vector<bson::Document>> sessions = sessionsOf(call);
    co_return sessions.status();
}

}  // namespace

CommandTable sessionCommands() {
    return {
        {
            .name = "startSession",
            .aliases = {},
            .help = "a new session's id",
            .fields = {},
            .handler = runStartSession,
            .access = Access::loggedIn(),
            .readOnly = true,
        },
        {
            .name = "endSessions",
            .aliases = {},
            .help = "end sessions and their cursors",
            .fields = {},
            .handler = runEndSessions,
            .access = Access::anybody(),
            .readOnly = true,
            .inApiVersion1 = true,
        },
        {
            .name = "killSessions",
            .aliases = {},
            .help = "end sessions and their cursors",
            .fields = {},
            .handler = runEndSessions,
            .access = Access::byHandler(),
            .readOnly = true,
        },
        {
            .name = "refreshSessions",
            .aliases = {},
            .help = "note that sessions are in use",
            .fields = {},
            .handler = runRefreshSessions,
            .access = Access::loggedIn(),
            .readOnly = true,
            .inApiVersion1 = true,
        },
    };
}

}  // namespace freshet::command
