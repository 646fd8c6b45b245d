// SPDX-License-Identifier: Apache-2.0
/// serverStatus, connectionStatus and getLog.
#include "freshet/command/access/sasl.h"
#include "freshet/command/run/invocation.h"
#include "freshet/command/run/tables.h"
#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"

namespace freshet::command {
namespace {

constexpr size_t kLogReplyBytesMax = 8u << 20;

int64_t count(uint64_t number) {
    return static_cast<int64_t>(number);
}

void addProcess(const Services& services, bson::Builder* reply) {
    const int64_t now = platform::wallMillis();
    const int64_t uptimeMs = now - services.facts.startedWallMs;
    reply->add("host", services.facts.host).add("version", services.facts.version);
    reply->add("process", "freshetd").add("pid", platform::processId());
    reply->add("uptime", static_cast<double>(uptimeMs / 1000)).add("uptimeMillis", uptimeMs);
    reply->add("uptimeEstimate", uptimeMs / 1000).add("localTime", bson::Date{now});
}

void addOpCounters(const Services& services, bson::Builder* reply) {
    auto section = reply->object("opcounters");
    section.add("insert", count(services.counters.total(OpKind::kInsert)));
    section.add("query", count(services.counters.total(OpKind::kQuery)));
    section.add("update", count(services.counters.total(OpKind::kUpdate)));
    section.add("delete", count(services.counters.total(OpKind::kDelete)));
    section.add("getmore", count(services.counters.total(OpKind::kGetMore)));
    section.add("command", count(services.counters.total(OpKind::kCommand)));
}

void addStandardSections(const Services& services, bson::Builder* reply) {
    {
        auto asserts = reply->object("asserts");
        for (const char* name : {"regular", "warning", "msg", "user", "tripwire", "rollovers"}) {
            asserts.add(name, int32_t{0});
        }
    }
    {
        auto memory = reply->object("mem");
        memory.add("bits", int32_t{64});
        memory.add("resident", static_cast<int32_t>(platform::residentBytes() >> 20));
        memory.add("supported", true);
    }
    {
        auto metrics = reply->object("metrics");
        auto cursor = metrics.object("cursor");
        auto open = cursor.object("open");
        open.add("total", count(services.cursors.openCount()));
    }
    auto storage = reply->object("storageEngine");
    storage.add("name", "freshet").add("persistent", true).add("supportsCommittedReads", true);
}

void addJournal(const journal::Stats& stats, bson::Builder* out) {
    auto section = out->object("journal");
    section.add("records", count(stats.records)).add("bytes", count(stats.bytes));
    section.add("slotsWritten", count(stats.slotsWritten)).add("flushes", count(stats.flushes));
    section.add("flushMicrosTotal", count(stats.flushMicrosTotal));
    section.add("joinRaces", count(stats.joinRaces)).add("fullWaits", count(stats.fullWaits));
    section.add("segments", count(stats.segments));
}

void addEngine(const engine::StoreStats& stats, bson::Builder* out) {
    auto section = out->object("engine");
    section.add("commits", count(stats.commits)).add("aborts", count(stats.aborts));
    section.add("conflicts", count(stats.conflicts));
    section.add("conflictWaits", count(stats.conflictWaits));
    section.add("rebuilds", count(stats.rebuilds)).add("splits", count(stats.splits));
    section.add("retiredBytes", count(stats.retiredBytes)).add("trees", count(stats.trees));
    section.add("clock", count(stats.clock));
    section.add("recordsReplayed", count(stats.recordsReplayed));
}

sync::Task<Status> runServerStatus(Invocation& call) {
    Services& services = call.services;
    addProcess(services, &call.reply);
    if (services.facts.transportStatus) {
        services.facts.transportStatus(&call.reply);
    }
    addOpCounters(services, &call.reply);
    addStandardSections(services, &call.reply);
    const engine::StoreStats stats = services.store.stats();
    auto own = call.reply.object("freshet");
    own.add("version", services.facts.freshetVersion);
    addJournal(stats.journal, &own);
    addEngine(stats, &own);
    co_return Status::ok();
}

sync::Task<Status> runConnectionStatus(Invocation& call) {
    Fields fields(call.body(), "connectionStatus");
    const bool showPrivileges = fields.boolean("showPrivileges", false);
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    describeLogin(call, showPrivileges, &call.reply);
    co_return Status::ok();
}

sync::Task<Status> runGetLog(Invocation& call) {
    Fields fields(call.body(), "getLog");
    const std::string_view which = fields.requiredString("getLog");
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    if (which == "*") {
        call.reply.array("names").push("global").push("startupWarnings");
        co_return Status::ok();
    }
    if (which != "global" && which != "startupWarnings") {
        co_return invalid(Reason::kOperationFailed, "No log named '" + std::string(which) + "'");
    }
    std::vector<std::string> lines;
    if (which == "global" && call.services.facts.recentLog) {
        lines = call.services.facts.recentLog();
    }
    call.reply.add("totalLinesWritten", static_cast<int32_t>(lines.size()));
    auto log = call.reply.array("log");
    for (const std::string& line : lines) {
        if (log.size() + line.size() > kLogReplyBytesMax) {
            break;
        }
        log.push(line);
    }
    co_return Status::ok();
}

}  // namespace

CommandTable statusCommands() {
    return {
        {
            .name = "serverStatus",
            .aliases = {},
            .help = "numbers about the running server",
            .fields = {},
            .handler = runServerStatus,
            .access = Access::onCluster(Action::kServerStatus),
            .acceptsUnknownFields = true,  // sections are switched on and off by name
            .readOnly = true,
        },
        {
            .name = "connectionStatus",
            .aliases = {},
            .help = "who the connection is",
            .fields = {"showPrivileges"},
            .handler = runConnectionStatus,
            .access = Access::anybody(),
            .readOnly = true,
            .inApiVersion1 = true,
        },
        {
            .name = "getLog",
            .aliases = {},
            .help = "the newest log lines",
            .fields = {},
            .handler = runGetLog,
            .access = Access::onCluster(Action::kGetLog),
            .adminOnly = true,
            .readOnly = true,
        },
    };
}

}  // namespace freshet::command
