// SPDX-License-Identifier: Apache-2.0
/// Logical sessions: names that cursors, operations and transactions carry. Ending a session ends
/// its cursors and aborts its transaction; killing it ends its operations too.
#include "freshet/command/access/authorize.h"
#include "freshet/command/run/invocation.h"
#include "freshet/command/run/tables.h"
#include "freshet/command/txn/statement.h"
#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"

#include <unordered_set>

namespace freshet::command {
namespace {

constexpr size_t kSessionsMax = 10'000;  // in one command, the number that drivers send

std::string randomUuid() {
    std::string bytes;
    appendLe(bytes, platform::randomSeed());
    appendLe(bytes, platform::randomSeed());
    bytes[6] = static_cast<char>((bytes[6] & 0x0f) | 0x40);  // version 4
    bytes[8] = static_cast<char>((bytes[8] & 0x3f) | 0x80);  // RFC 4122 variant
    return bytes;
}

using Names = std::unordered_set<std::string>;

StatusOr<std::vector<bson::Document>> listed(const Invocation& call) {
    Fields fields(call.body(), call.command.name);
    std::vector<bson::Document> documents = fields.objects(call.body().begin()->name());
    FRESHET_RETURN_IF_ERROR(fields.status());
    if (documents.size() > kSessionsMax) {
        return invalid(Reason::kInvalidLength, "Too many sessions in one command");
    }
    return documents;
}

/// Reads the sessions; those of other users only if the caller may end any.
StatusOr<Names> sessionsOf(Invocation& call) {
    FRESHET_ASSIGN_OR_RETURN(const std::vector<bson::Document> documents, listed(call));
    Names names;
    for (bson::Document document : documents) {
        FRESHET_ASSIGN_OR_RETURN(
            std::string name,
            sessionName(document,
                        std::string(call.command.name) + "." + std::string(call.command.name)));
        const Status owned = ownSession(call.services, call.login, &name);
        if (!owned.isOk() && !mayDoOnCluster(call, Action::kKillAnySession)) {
            return owned;
        }
        names.insert(std::move(name));
    }
    return names;
}

/// Ends the operations and cursors of the selected sessions, except the caller's operation.
void killThose(Invocation& call, const std::function<bool(const std::string&)>& isMeant) {
    const GenericArguments* own = &call.generic;
    call.services.operations.killIf(Reason::kInterrupted, [&](const RunningOperation& operation) {
        const std::string& session = operation.generic->lsid;
        return operation.generic != own && !session.empty() && isMeant(session);
    });
    call.services.cursors.killIf(
        [&](const ClientCursor& cursor) { return !cursor.lsid.empty() && isMeant(cursor.lsid); });
    endCursorsOf(call.services,
                 call.services.transactions.abortIf(
                     [&](const std::string& session, const Transactions::Known&) {
                         return isMeant(session);
                     }));
}

sync::Task<Status> runStartSession(Invocation& call) {
    const std::string uuid = randomUuid();
    bson::Builder name;
    name.add("id", bson::Binary{4, uuid});
    const bson::OwnedDocument id(name.finish());
    std::string owned = id.bytes();
    FRESHET_CO_RETURN_IF_ERROR(ownSession(call.services, call.login, &owned));
    call.services.sessions.use(owned, holderOf(call), platform::wallMillis());
    call.reply.add("id", id.view());
    call.reply.add("timeoutMinutes", call.services.sessionTimeoutMinutes());
    co_return Status::ok();
}

sync::Task<Status> runEndSessions(Invocation& call) {
    StatusOr<Names> sessions = sessionsOf(call);
    FRESHET_CO_RETURN_IF_ERROR(sessions.status());
    call.services.cursors.killSessions(*sessions);
    endCursorsOf(call.services, call.services.transactions.abortOf(*sessions));
    call.services.sessions.end(*sessions);
    co_return Status::ok();
}

/// {killSessions: []} means all sessions that the caller may end.
sync::Task<Status> runKillSessions(Invocation& call) {
    FRESHET_CO_RETURN_IF_ERROR(authorizeLoggedIn(call));
    const bool mayEndAny = mayDoOnCluster(call, Action::kKillAnySession);
    StatusOr<Names> sessions = sessionsOf(call);
    FRESHET_CO_RETURN_IF_ERROR(sessions.status());
    killThose(call, [&](const std::string& session) {
        return sessions->contains(session) ||
               (sessions->empty() && (mayEndAny || isOwnSession(call.login, session)));
    });
    call.services.sessions.end(*sessions);
    co_return Status::ok();
}

/// By users ({user, db}) or by patterns ({lsid}, {uid}, {users}); an empty list means all.
sync::Task<Status> runKillAllSessions(Invocation& call) {
    StatusOr<std::vector<bson::Document>> patterns = listed(call);
    FRESHET_CO_RETURN_IF_ERROR(patterns.status());
    Names ids;  // values of names' fields, as bytes
    Names uids;
    for (bson::Document pattern : *patterns) {
        for (const char* field : {"lsid", "uid", "user", "users"}) {
            const bson::Element element = pattern.find(field);
            const bson::Element with = element.isObject() ? element.document().find("id") : element;
            if (with) {
                const bool isId = element.name() == "lsid" && element.isObject();
                (isId ? ids : uids).emplace(with.value());
            }
        }
    }
    killThose(call, [&](const std::string& session) {
        const bson::Document name(session.data());
        const auto isIn = [](const Names& values, const bson::Element& part) {
            return part && values.contains(std::string(part.value()));
        };
        return patterns->empty() || isIn(ids, name.find("id")) || isIn(uids, name.find("uid"));
    });
    co_return Status::ok();
}

sync::Task<Status> runRefreshSessions(Invocation& call) {
    StatusOr<Names> sessions = sessionsOf(call);
    FRESHET_CO_RETURN_IF_ERROR(sessions.status());
    const int64_t now = platform::wallMillis();
    const std::string holder = holderOf(call);
    for (const std::string& session : *sessions) {
        call.services.sessions.use(session, holder, now);
    }
    co_return Status::ok();
}

/// reapLogicalSessionCacheNow: forgets expired sessions. refreshLogicalSessionCacheNow has nothing
/// to write.
sync::Task<Status> runReap(Invocation& call) {
    call.services.expireSessions();
    co_return Status::ok();
}

Command sessionCommand(std::string_view name,
                       std::string_view help,
                       Handler handler,
                       Access access) {
    return Command{.name = name,
                   .aliases = {},
                   .help = help,
                   .fields = {},
                   .handler = handler,
                   .access = access,
                   .readOnly = true};
}

}  // namespace

CommandTable sessionCommands() {
    constexpr Access killAny = Access::onCluster(Action::kKillAnySession);
    constexpr Access test = Access::onCluster(Action::kTestCommand);
    CommandTable table{
        sessionCommand("startSession", "a new session's id", runStartSession, Access::loggedIn()),
        sessionCommand(
            "endSessions", "end sessions and their cursors", runEndSessions, Access::anybody()),
        sessionCommand("killSessions",
                       "end operations and cursors of sessions",
                       runKillSessions,
                       Access::byHandler()),
        sessionCommand("killAllSessions",
                       "end operations and cursors of all sessions, or of some users'",
                       runKillAllSessions,
                       killAny),
        sessionCommand("killAllSessionsByPattern",
                       "end operations and cursors of sessions by pattern",
                       runKillAllSessions,
                       killAny),
        sessionCommand(
            "reapLogicalSessionCacheNow", "forget sessions past their time", runReap, test),
        sessionCommand(
            "refreshLogicalSessionCacheNow", "forget sessions past their time", runReap, test),
        sessionCommand("refreshSessions",
                       "note that sessions are in use",
                       runRefreshSessions,
                       Access::loggedIn()),
    };
    for (Command& command : table) {
        command.inApiVersion1 = command.name == "endSessions" || command.name == "refreshSessions";
        command.testOnly = command.access.action == Action::kTestCommand;
    }
    return table;
}

}  // namespace freshet::command
