// SPDX-License-Identifier: Apache-2.0
/// Upkeep of files and logs, and commands for which a standalone server has little to do: fsync,
/// fsyncUnlock, logRotate, compact, logApplicationMessage, features, connPoolStats.
#include "freshet/command/run/invocation.h"
#include "freshet/command/run/tables.h"
#include "freshet/platform/thread.h"
#include "freshet/telemetry/log.h"

namespace freshet::command {
namespace {

/// A thread of its own makes the checkpoint, because it blocks. `holds`: no other one follows until
/// it is released.
sync::Task<Status> checkpoint(Invocation& call, bool holds) {
    Status status;
    const sync::WaitToken done = sync::WaitToken::create();
    platform::Thread worker("fsync", [&] {
        engine::Store& store = call.services.store;
        status = holds ? store.holdCheckpoints() : store.checkpointNow();
        done.complete();
    });
    co_await sync::wait(done);
    worker.join();
    co_return status;
}

sync::Task<Status> runFsync(Invocation& call) {
    Fields fields(call.body(), "fsync");
    const bool locks = fields.boolean("lock", false);
    fields.boolean("async", false);
    fields.integer("fsyncLockAcquisitionTimeoutMillis", 90'000);
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    WriteBlock& block = call.services.writeBlock;
    if (locks) {
        block.lock();
        Status drained = co_await block.drain(call);
        if (!drained.isOk()) {
            block.cancel();
            co_return drained;
        }
    }
    Status status = co_await checkpoint(call, locks);
    if (!status.isOk()) {
        if (locks) {
            block.cancel();
        }
        co_return status;
    }
    if (locks) {
        block.confirm();
        call.reply.add("info", "now locked against writes, use db.fsyncUnlock() to unlock");
        call.reply.add("lockCount", block.count());
        call.reply.add("seeAlso", "http://dochub.mongodb.org/core/fsynccommand");
    } else {
        call.reply.add("numFiles", int32_t{1});
    }
    co_return Status::ok();
}

sync::Task<Status> runFsyncUnlock(Invocation& call) {
    WriteBlock& block = call.services.writeBlock;
    if (!block.unlock()) {
        co_return invalid(Reason::kIllegalOperation, "fsyncUnlock called when not locked");
    }
    call.services.store.releaseCheckpoints();
    call.reply.add("info", "fsyncUnlock completed").add("lockCount", block.count());
    co_return Status::ok();
}

sync::Task<Status> runLogRotate(Invocation& call) {
    const bson::Element which = *call.body().begin();
    if (which.isString() && which.stringValue() != "server") {
        co_return invalid(Reason::kNoSuchKey,
                          "Unknown log type '" + std::string(which.stringValue()) + "'");
    }
    co_return call.services.facts.rotateLog ? call.services.facts.rotateLog() : Status::ok();
}

/// Later pages reuse the space of deleted documents, so there is nothing to do.
sync::Task<Status> runCompact(Invocation& call) {
    StatusOr<std::string> name = call.collectionName();
    FRESHET_CO_RETURN_IF_ERROR(name.status());
    if (call.services.catalog.find(call.generic.db, *name) == nullptr) {
        co_return Status(Code::kNotFound, Reason::kNamespaceNotFound, "collection does not exist");
    }
    call.reply.add("bytesFreed", int64_t{0});
    co_return Status::ok();
}

sync::Task<Status> runLogMessage(Invocation& call) {
    Fields fields(call.body(), "logApplicationMessage");
    const std::string_view text = fields.requiredString("logApplicationMessage");
    FRESHET_CO_RETURN_IF_ERROR(fields.status());
    telemetry::logInfo("command", "Application message: " + std::string(text.substr(0, 4'096)));
    co_return Status::ok();
}

sync::Task<Status> runFeatures(Invocation& call) {
    call.reply.object("js").add("utf8", true);
    call.reply.add("oidMachine", int32_t{0});
    co_return Status::ok();
}

/// This server opens no connections to others.
sync::Task<Status> runConnPoolStats(Invocation& call) {
    call.reply.add("numClientConnections", int32_t{0}).add("numAScopedConnections", int32_t{0});
    call.reply.add("totalInUse", int32_t{0}).add("totalAvailable", int32_t{0});
    call.reply.add("totalCreated", int32_t{0}).add("totalRefreshing", int32_t{0});
    call.reply.object("pools");
    call.reply.object("hosts");
    call.reply.object("replicaSets");
    co_return Status::ok();
}

}  // namespace

CommandTable upkeepCommands() {
    return {
        {
            .name = "fsync",
            .aliases = {},
            .help = "take a checkpoint; with lock: stop writes",
            .fields = {"lock", "async", "fsyncLockAcquisitionTimeoutMillis"},
            .handler = runFsync,
            .access = Access::onCluster(Action::kFsync),
            .adminOnly = true,
            .readOnly = true,
        },
        {
            .name = "fsyncUnlock",
            .aliases = {},
            .help = "let writes go on",
            .fields = {},
            .handler = runFsyncUnlock,
            .access = Access::onCluster(Action::kUnlock),
            .adminOnly = true,
            .readOnly = true,
        },
        {
            .name = "logRotate",
            .aliases = {},
            .help = "begin a new log file",
            .fields = {"comment"},
            .handler = runLogRotate,
            .access = Access::onCluster(Action::kLogRotate),
            .adminOnly = true,
            .readOnly = true,
        },
        {
            .name = "compact",
            .aliases = {},
            .help = "give back what a collection does not need",
            .fields = {"force", "freeSpaceTargetMB", "dryRun"},
            .handler = runCompact,
            .access = Access::onCollection(Action::kCompact),
        },
        {
            .name = "logApplicationMessage",
            .aliases = {},
            .help = "write a line to the log",
            .fields = {},
            .handler = runLogMessage,
            .access = Access::onCluster(Action::kApplicationMessage),
            .readOnly = true,
        },
        {
            .name = "features",
            .aliases = {},
            .help = "what was built in",
            .fields = {},
            .handler = runFeatures,
            .access = Access::loggedIn(),
            .readOnly = true,
        },
        {
            .name = "connPoolStats",
            .aliases = {},
            .help = "connections to other servers",
            .fields = {},
            .handler = runConnPoolStats,
            .access = Access::onCluster(Action::kConnPoolStats),
            .readOnly = true,
        },
    };
}

}  // namespace freshet::command
