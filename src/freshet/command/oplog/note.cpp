// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/oplog/note.h"

#include "freshet/catalog/event.h"
#include "freshet/command/access/authorize.h"
#include "freshet/command/access/replica_set_member.h"
#include "freshet/command/background/block_on.h"
#include "freshet/command/run/invocation.h"
#include "freshet/command/run/tables.h"
#include "freshet/telemetry/log.h"

namespace freshet::command {

NoteWriter::NoteWriter(engine::Store& store, bson::Document note) : txn_(store) {
    catalog::encodeDefinition(catalog::EventKind::kNote, {}, {}, {}, note, &event_);
}

Status NoteWriter::run() {
    if (!hasEvent_) {
        FRESHET_RETURN_IF_ERROR(txn_.addEvent(event_));
        hasEvent_ = true;
    }
    return txn_.commit();
}

void writeMemberNote(engine::Store& store, std::string_view message) {
    bson::Builder note;
    note.add("msg", message);
    NoteWriter writer(store, bson::OwnedDocument(note.finish()).view());
    const Status status = blockOnAll(writer);
    if (!status.isOk()) {
        telemetry::logWarning("command", "A note could not be logged: " + status.toString());
    }
}

namespace {

sync::Task<Status> runAppendNote(Invocation& call) {
    if (!isReplicaSet(call.services)) {
        co_return invalid(Reason::kNoReplicationEnabled,
                          "Must have replication set up to run \"appendOplogNote\"");
    }
    const bson::Element data = call.body().find("data");
    if (!data.isObject()) {
        co_return invalid(data.isMissing() ? Reason::kNoSuchKey : Reason::kTypeMismatch,
                          data.isMissing() ? "Missing expected field \"data\""
                                           : "Expected field \"data\" to be of type object");
    }
    NoteWriter writer(call.services.store, data.document());
    call.hasTriedToWrite = true;
    Status status = co_await driveToEnd(writer);
    FRESHET_CO_RETURN_IF_ERROR(std::move(status));
    status = co_await waitForDurability(call, writer.commitLsn());
    co_return status;
}

}  // namespace

CommandTable noteCommands() {
    return {{
        .name = "appendOplogNote",
        .aliases = {},
        .help = "add an entry to the oplog that changes nothing",
        .fields = {"data"},
        .handler = runAppendNote,
        .access = Access::onCluster(Action::kAppendOplogNote),
        .adminOnly = true,
    }};
}

}  // namespace freshet::command
