// SPDX-License-Identifier: Apache-2.0
/// Small facts about the server, and its shutdown: ping, buildInfo, getCmdLineOpts, hostInfo,
/// whatsmyuri, listCommands, shutdown.
#include "freshet/command/diag/own_documents.h"
#include "freshet/command/run/invocation.h"
#include "freshet/command/run/tables.h"
#include "freshet/platform/clock.h"
#include "freshet/platform/limits.h"
#include "freshet/platform/thread.h"

namespace freshet::command {
namespace {

sync::Task<Status> runPing(Invocation&) {
    co_return Status::ok();
}

/// "8.0.0" as [8, 0, 0, 0].
void addVersionArray(std::string_view version, bson::Builder* reply) {
    auto parts = reply->array("versionArray");
    int32_t number = 0;
    for (char c : version) {
        if (c == '.') {
            parts.push(number);
            number = 0;
        } else {
            number = number * 10 + (c - '0');
        }
    }
    parts.push(number).push(int32_t{0});
}

sync::Task<Status> runBuildInfo(Invocation& call) {
    addBuildInfo(call.services.facts, &call.reply);
    co_return Status::ok();
}

sync::Task<Status> runGetCmdLineOpts(Invocation& call) {
    {
        auto argv = call.reply.array("argv");
        for (const std::string& argument : call.services.facts.argv) {
            argv.push(argument);
        }
    }
    call.reply.add("parsed", call.services.facts.parsedOptions.view());
    co_return Status::ok();
}

sync::Task<Status> runHostInfo(Invocation& call) {
    {
        auto system = call.reply.object("system");
        system.add("currentTime", bson::Date{platform::wallMillis()});
        system.add("hostname", platform::hostName()).add("cpuAddrSize", int32_t{64});
        const auto memoryMiB = static_cast<int64_t>(platform::machineMemoryBytes() >> 20);
        system.add("memSizeMB", memoryMiB).add("memLimitMB", memoryMiB);
        const auto cores = static_cast<int32_t>(platform::coreCount());
        system.add("numCores", cores).add("numCoresAvailableToProcess", cores);
    }
    call.reply.object("os").add("type", "Linux");
    call.reply.object("extra");
    co_return Status::ok();
}

sync::Task<Status> runWhatsMyUri(Invocation& call) {
    call.reply.add("you", call.client.remote);
    co_return Status::ok();
}

void describe(const Command& command,
              std::string_view name,
              const std::vector<std::string_view>& aliases,
              bson::Builder* out) {
    auto entry = out->object(name);
    entry.add("help", command.help);
    {
        auto list = entry.array("aliases");
        for (std::string_view alias : aliases) {
            list.push(alias);
        }
    }
    {
        auto versions = entry.array("apiVersions");
        if (command.inApiVersion1) {
            versions.push("1");
        }
    }
    entry.array("deprecatedApiVersions");
    entry.add("requiresAuth", command.access.scope != Access::Scope::kAnybody);
    entry.add("secondaryOk", command.readOnly).add("adminOnly", command.adminOnly);
}

sync::Task<Status> runListCommands(Invocation& call) {
    auto list = call.reply.object("commands");
    for (const Command& command : call.services.registry.commands()) {
        if (command.name == "hello") {  // mongod lists its old name as a command
            describe(command, command.name, {}, &list);
            describe(command, "isMaster", {"ismaster"}, &list);
        } else {
            describe(command, command.name, command.aliases, &list);
        }
    }
    co_return Status::ok();
}

bool isLocal(std::string_view remote) {
    return remote.starts_with("127.") || remote.starts_with("[::1]") || remote.starts_with("::1");
}

sync::Task<Status> runShutdown(Invocation& call) {
    if (!isLocal(call.client.remote)) {
        co_return invalid(Reason::kUnauthorized,
                          "shutdown must run from localhost when running db without auth");
    }
    if (!call.services.facts.requestShutdown) {
        co_return Status(Code::kUnsupported, "this server cannot be shut down by a command");
    }
    call.services.facts.requestShutdown();
    call.endsSession = true;
    co_return Status::ok();
}

}  // namespace

void addBuildInfo(const ServerFacts& facts, bson::Builder* out) {
    out->add("version", facts.version).add("gitVersion", "freshet-" + facts.freshetVersion);
    out->add("freshetVersion", facts.freshetVersion);
    out->array("modules");
    addVersionArray(facts.version, out);
    out->add("allocator", platform::allocatorName());
    out->add("javascriptEngine", facts.javaScriptEnabled ? "mozjs" : "none");
    out->add("bits", int32_t{64});
#ifdef FRESHET_DEBUG
    out->add("debug", true);
#else
    out->add("debug", false);
#endif
    out->add("maxBsonObjectSize", static_cast<int32_t>(bson::kDocumentBytesMax));
    out->array("storageEngines").push("freshet");
}

CommandTable serverCommands() {
    return {
        {
            .name = "ping",
            .aliases = {},
            .help = "answer",
            .fields = {},
            .handler = runPing,
            .access = Access::anybody(),
            .readOnly = true,
            .inApiVersion1 = true,
        },
        {
            .name = "buildInfo",
            .aliases = {"buildinfo"},
            .help = "version and build",
            .fields = {},
            .handler = runBuildInfo,
            .access = Access::anybody(),
            .readOnly = true,
        },
        {
            .name = "getCmdLineOpts",
            .aliases = {},
            .help = "the command line as given and as understood",
            .fields = {},
            .handler = runGetCmdLineOpts,
            .access = Access::onCluster(Action::kGetCmdLineOpts),
            .adminOnly = true,
            .readOnly = true,
        },
        {
            .name = "hostInfo",
            .aliases = {},
            .help = "the machine",
            .fields = {},
            .handler = runHostInfo,
            .access = Access::onCluster(Action::kHostInfo),
            .readOnly = true,
        },
        {
            .name = "whatsmyuri",
            .aliases = {},
            .help = "the client's address as the server sees it",
            .fields = {},
            .handler = runWhatsMyUri,
            .access = Access::anybody(),
            .readOnly = true,
        },
        {
            .name = "listCommands",
            .aliases = {},
            .help = "this list",
            .fields = {},
            .handler = runListCommands,
            .access = Access::anybody(),
            .readOnly = true,
        },
        {
            .name = "shutdown",
            .aliases = {},
            .help = "end the server",
            .fields = {"force", "timeoutSecs"},
            .handler = runShutdown,
            .access = Access::onCluster(Action::kShutdown),
            .adminOnly = true,
            .readOnly = true,
        },
    };
}

}  // namespace freshet::command
