// SPDX-License-Identifier: Apache-2.0
/// serverStatus and getDiagnosticData: numbers about the running server, by sections that a client
/// may switch on and off by name.
#include "freshet/bson/count.h"
#include "freshet/command/access/replica_set_member.h"
#include "freshet/command/run/invocation.h"
#include "freshet/command/run/tables.h"
#include "freshet/platform/clock.h"
#include "freshet/platform/limits.h"
#include "freshet/platform/thread.h"

#include <algorithm>
#include <iterator>

namespace freshet::command {
namespace {

/// The cache has no limit of its own yet, but dashboards compute percentages of one.
constexpr uint64_t kCacheBytesShown = uint64_t{1} << 30;

int64_t number(uint64_t value) {
    return static_cast<int64_t>(value);
}

int64_t total(const Services& services, Counter counter) {
    return number(services.statistics.total(counter));
}

void addAsserts(const Services& services, bson::Builder* out) {
    auto asserts = out->object("asserts");
    asserts.add("regular", int32_t{0}).add("warning", int32_t{0}).add("msg", int32_t{0});
    bson::addCount(&asserts, "user", total(services, Counter::kUserErrors));
    asserts.add("tripwire", int32_t{0}).add("rollovers", int32_t{0});
}

void addExtraInfo(const Services&, bson::Builder* out) {
    out->object("extra_info")
        .add("note", "fields vary by platform")
        .add("user_time_us", number(platform::processCpuMicros()));
}

struct ClientCounts {
    int32_t clients = 0;
    int32_t readers = 0;  // active, without the one that asks
    int32_t writers = 0;
};

ClientCounts countClients(const Services& services) {
    ClientCounts counts;
    int32_t active = 0;
    for (const auto& connection : services.operations.all()) {
        ++counts.clients;
        active += connection->isActive() ? 1 : 0;
        counts.writers += connection->hasWriter() ? 1 : 0;
    }
    counts.readers = std::max(0, active - counts.writers - 1);
    return counts;
}

/// mongod's shape: a queue is what waits, an active client what runs.
void addGlobalLock(const Services& services, bson::Builder* out) {
    const ClientCounts counts = countClients(services);
    const int64_t uptimeMs = platform::wallMillis() - services.facts.startedWallMs;
    auto section = out->object("globalLock");
    section.add("totalTime", uptimeMs * 1'000);
    section.object("currentQueue")
        .add("total", int32_t{0})
        .add("readers", int32_t{0})
        .add("writers", int32_t{0});
    section.object("activeClients")
        .add("total", counts.clients)
        .add("readers", counts.readers)
        .add("writers", counts.writers);
}

void addSessions(const Services& services, bson::Builder* out) {
    out->object("logicalSessionRecordCache")
        .add("activeSessionsCount", static_cast<int32_t>(services.sessions.count()));
}

void addMemory(const Services&, bson::Builder* out) {
    out->object("mem")
        .add("bits", int32_t{64})
        .add("resident", static_cast<int32_t>(platform::residentBytes() >> 20))
        .add("virtual", static_cast<int32_t>(platform::virtualBytes() >> 20))
        .add("supported", true);
}

void addCommandCounts(const Services& services, bson::Builder* out) {
    auto commands = out->object("commands");
    for (const Command& command : services.registry.commands()) {
        const auto counts = services.statistics.ofCommand(services.indexOf(command));
        commands.object(command.name)
            .add("failed", number(counts.failed))
            .add("total", number(counts.total));
    }
}

void addMetrics(const Services& services, bson::Builder* out) {
    auto metrics = out->object("metrics");
    addCommandCounts(services, &metrics);
    {
        const CursorRegistry::Counts counts = services.cursors.counts();
        auto cursor = metrics.object("cursor");
        cursor.add("timedOut", total(services, Counter::kCursorsTimedOut));
        cursor.object("open")
            .add("noTimeout", number(counts.noTimeout))
            .add("pinned", number(counts.pinned))
            .add("total", number(counts.open));
        // Our extension: what idle cursors hold, and how many ended to make room for others.
        cursor.add("idleBytes", number(counts.idleBytes));
        cursor.object("endedForRoom")
            .add("memory", number(counts.endedForMemory))
            .add("number", number(counts.endedForNumber));
    }
    metrics.object("document")
        .add("deleted", total(services, Counter::kDocumentsDeleted))
        .add("inserted", total(services, Counter::kDocumentsInserted))
        .add("returned", total(services, Counter::kDocumentsReturned))
        .add("updated", total(services, Counter::kDocumentsUpdated));
    const engine::StoreStats stats = services.store.stats();
    metrics.object("operation")
        .add("killedDueToMaxTimeMSExpired", total(services, Counter::kKilledByTimeLimit))
        .add("writeConflicts", number(stats.conflicts));
    const query::SpillTotals spilled = services.spill.totals();
    {
        auto query = metrics.object("query");
        query.object("group").add("spillToDisk", number(spilled.groupSpills));
        query.object("sort")
            .add("spillToDisk", number(spilled.sortSpills))
            .add("totalBytesSorted", number(spilled.bytesSorted))
            .add("totalKeysSorted", number(spilled.keysSorted));
        query.add("spilledBytes", number(spilled.bytesWritten));
    }
    metrics.object("queryExecutor")
        .add("scanned", total(services, Counter::kKeysExamined))
        .add("scannedObjects", total(services, Counter::kDocsExamined));
    metrics.object("ttl")
        .add("deletedDocuments", total(services, Counter::kTtlDeleted))
        .add("passes", total(services, Counter::kTtlPasses));
}

void addOpCounters(const Services& services, bson::Builder* out) {
    const OpCounters& counters = services.counters;
    out->object("opcounters")
        .add("insert", number(counters.total(OpKind::kInsert)))
        .add("query", number(counters.total(OpKind::kQuery)))
        .add("update", number(counters.total(OpKind::kUpdate)))
        .add("delete", number(counters.total(OpKind::kDelete)))
        .add("getmore", number(counters.total(OpKind::kGetMore)))
        .add("command", number(counters.total(OpKind::kCommand)));
}

void addLatencies(const Services& services, bson::Builder* out) {
    static constexpr std::string_view kNames[] = {"reads", "writes", "commands"};
    auto section = out->object("opLatencies");
    for (size_t i = 0; i < std::size(kNames); ++i) {
        const Effort effort = services.statistics.latency(static_cast<LatencyClass>(i));
        section.object(kNames[i])
            .add("latency", number(effort.micros))
            .add("ops", number(effort.count));
    }
}

void addStorageEngine(const Services&, bson::Builder* out) {
    out->object("storageEngine")
        .add("name", "freshet")
        .add("supportsCommittedReads", true)
        .add("persistent", true)
        .add("backupCursorOpen", false);
}

/// Connections and network: transport's numbers, each under its own name.
void addTransport(const Services& services, std::string_view wanted, bson::Builder* out) {
    if (!services.facts.transportStatus) {
        return;
    }
    bson::Builder holder;
    services.facts.transportStatus(&holder);
    const bson::OwnedDocument all(holder.finish());
    const bson::Element section = all.view().find(wanted);
    if (!section.isMissing()) {
        out->add(section);
    }
}

void addConnections(const Services& services, bson::Builder* out) {
    addTransport(services, "connections", out);
}

/// mongod's tickets for operations, of which mongostat shows how many are out.
void addTickets(const Services& services, bson::Builder* section) {
    const ClientCounts counts = countClients(services);
    auto tickets = section->object("concurrentTransactions");
    tickets.object("write").add("out", counts.writers);
    tickets.object("read").add("out", counts.readers);
}

void addNetwork(const Services& services, bson::Builder* out) {
    addTransport(services, "network", out);
}

void addRdma(const Services& services, bson::Builder* out) {
    addTransport(services, "rdma", out);
}

void addTransactions(const Services& services, bson::Builder* out) {
    const Transactions::Counts counts = services.transactions.counts();
    out->object("transactions")
        .add("currentActive", number(counts.inUse))
        .add("currentInactive", number(counts.open - counts.inUse))
        .add("currentOpen", number(counts.open))
        .add("totalAborted", number(counts.aborted))
        .add("totalCommitted", number(counts.committed))
        .add("totalStarted", number(counts.started));
}

/// What mongostat and dashboards read about the cache, from our own page counts.
void addWiredTigerShape(const Services& services, bson::Builder* out) {
    const engine::StoreStats stats = services.store.stats();
    const bool limited = stats.memoryBytesMax != 0;
    const uint64_t bytes = limited ? stats.memoryBytes : platform::residentBytes();
    const double dirtyShare =
        stats.pages == 0 ? 0.0
                         : static_cast<double>(stats.dirtyPages) / static_cast<double>(stats.pages);
    auto section = out->object("wiredTiger");
    {
        auto cache = section.object("cache");
        const auto add = [&cache](std::string_view name, uint64_t n) {
            bson::addCount(&cache, name, number(n));
        };
        add("bytes currently in the cache", bytes);
        add("maximum bytes configured",
            limited ? stats.memoryBytesMax : std::max(bytes, kCacheBytesShown));
        add("bytes read into cache", stats.leafBytesRead);
        add("pages read into cache", stats.leavesRead);
        add("unmodified pages evicted", stats.leavesEvicted);
        add("tracked dirty bytes in the cache",
            static_cast<uint64_t>(static_cast<double>(bytes) * dirtyShare));
    }
    addTickets(services, &section);
    auto transaction = section.object("transaction");
    bson::addCount(&transaction, "transaction checkpoints", number(stats.checkpoints));
}

void addFreshet(const Services& services, bson::Builder* out) {
    const engine::StoreStats stats = services.store.stats();
    auto own = out->object("freshet");
    own.add("version", services.facts.freshetVersion);
    own.object("journal")
        .add("records", number(stats.journal.records))
        .add("bytes", number(stats.journal.bytes))
        .add("slotsWritten", number(stats.journal.slotsWritten))
        .add("flushes", number(stats.journal.flushes))
        .add("flushMicrosTotal", number(stats.journal.flushMicrosTotal))
        .add("joinRaces", number(stats.journal.joinRaces))
        .add("fullWaits", number(stats.journal.fullWaits))
        .add("segments", number(stats.journal.segments));
    own.object("engine")
        .add("commits", number(stats.commits))
        .add("aborts", number(stats.aborts))
        .add("conflicts", number(stats.conflicts))
        .add("conflictWaits", number(stats.conflictWaits))
        .add("rebuilds", number(stats.rebuilds))
        .add("splits", number(stats.splits))
        .add("retiredBytes", number(stats.retiredBytes))
        .add("trees", number(stats.trees))
        .add("clock", number(stats.clock))
        .add("recordsReplayed", number(stats.recordsReplayed))
        .add("checkpoints", number(stats.checkpoints))
        .add("lastCheckpointMillis", number(stats.lastCheckpointMillis))
        .add("pages", number(stats.pages))
        .add("dirtyPages", number(stats.dirtyPages))
        .add("memoryBytes", number(stats.memoryBytes))
        .add("memoryBytesMax", number(stats.memoryBytesMax))
        .add("leavesRead", number(stats.leavesRead))
        .add("leavesReadAsync", number(stats.leavesReadAsync))
        .add("leavesUnreadable", number(stats.leavesUnreadable))
        .add("leavesEvicted", number(stats.leavesEvicted))
        .add("spaceShort", stats.spaceShort);
    own.object("block")
        .add("fileBytes", number(stats.block.fileBytes))
        .add("freeBytes", number(stats.block.freeBytes))
        .add("pagesWritten", number(stats.block.pagesWritten))
        .add("bytesWritten", number(stats.block.bytesWritten))
        .add("pagesCompressed", number(stats.block.pagesCompressed))
        .add("bytesSaved", number(stats.block.bytesSaved))
        .add("memoryBytes", number(stats.block.memoryBytes));
    addTransport(services, "reactors", &own);
    if (services.memory != nullptr) {
        own.object("requestMemory")
            .add("bytes", number(services.memory->used()))
            .add("bytesMax", number(services.memory->bytesMax()));
    }
}

struct Section {
    std::string_view name;
    void (*add)(const Services& services, bson::Builder* out);
};

constexpr Section kSections[] = {
    {"asserts", addAsserts},
    {"connections", addConnections},
    {"extra_info", addExtraInfo},
    {"globalLock", addGlobalLock},
    {"logicalSessionRecordCache", addSessions},
    {"mem", addMemory},
    {"metrics", addMetrics},
    {"network", addNetwork},
    {"opLatencies", addLatencies},
    {"opcounters", addOpCounters},
    {"rdma", addRdma},
    {"storageEngine", addStorageEngine},
    {"transactions", addTransactions},
    {"wiredTiger", addWiredTigerShape},
    {"freshet", addFreshet},
};

/// {section: 0} omits it, {none: 1, section: 1} shows only it.
bool isWanted(bson::Document sections, std::string_view section) {
    const bson::Element wanted = sections.find(section);
    return wanted.isMissing() ? !sections.find("none").isTruthy() : wanted.isTruthy();
}

void addStatus(const Services& services, bson::Document sections, bson::Builder* reply) {
    const int64_t now = platform::wallMillis();
    const int64_t uptimeMs = now - services.facts.startedWallMs;
    reply->add("host", services.facts.host).add("version", services.facts.version);
    reply->add("process", "freshetd").add("pid", platform::processId());
    reply->add("uptime", static_cast<double>(uptimeMs / 1'000)).add("uptimeMillis", uptimeMs);
    reply->add("uptimeEstimate", uptimeMs / 1'000).add("localTime", bson::Date{now});
    for (const Section& section : kSections) {
        if (isWanted(sections, section.name)) {
            section.add(services, reply);
        }
    }
}

void addReplication(const Invocation& call, bson::Builder* reply) {
    if (isReplicaSet(call.services) && isWanted(call.body(), "repl")) {
        auto section = reply->object("repl");
        // The older name is what mongostat looks for.
        const bool isPrimary = call.services.member.isPrimary();
        section.add("isWritablePrimary", isPrimary).add("ismaster", isPrimary);
        addMember(call, &section);
        section.add("rbid", int32_t{1});
    }
}

sync::Task<Status> runServerStatus(Invocation& call) {
    addStatus(call.services, call.body(), &call.reply);
    addReplication(call, &call.reply);
    co_return Status::ok();
}

/// What a recorder of diagnostic data would have sampled now.
sync::Task<Status> runDiagnosticData(Invocation& call) {
    const bson::Date now{platform::wallMillis()};
    auto data = call.reply.object("data");
    data.add("start", now);
    {
        auto status = data.object("serverStatus");
        status.add("start", now);
        addStatus(call.services, {}, &status);
        status.add("end", bson::Date{platform::wallMillis()});
    }
    data.add("end", bson::Date{platform::wallMillis()});
    co_return Status::ok();
}

}  // namespace

CommandTable serverStatusCommands() {
    return {
        {
            .name = "serverStatus",
            .aliases = {},
            .help = "numbers about the running server",
            .fields = {},
            .handler = runServerStatus,
            .access = Access::onCluster(Action::kServerStatus),
            .acceptsUnknownFields = true,  // sections are selected by name
            .readOnly = true,
        },
        {
            .name = "getDiagnosticData",
            .aliases = {},
            .help = "what a recorder of diagnostic data would sample",
            .fields = {},
            .handler = runDiagnosticData,
            .access = Access::onCluster(Action::kServerStatus),
            .adminOnly = true,
            .readOnly = true,
        },
    };
}

}  // namespace freshet::command
