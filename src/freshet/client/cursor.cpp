// SPDX-License-Identifier: Apache-2.0
/// Walking a cursor: the first batch comes with the command's reply, the others by getMore.
#include "freshet/client/client.h"

namespace freshet::client {

namespace {

/// The parts of {cursor: {id, ns, firstBatch | nextBatch}}.
struct Batch {
    int64_t cursorId = 0;
    std::string collection;
    bson::Document documents;
};

StatusOr<Batch> batchOf(bson::Document reply, std::string_view batchName) {
    bson::Element cursor = reply.find("cursor");
    if (!cursor.isObject()) {
        return badValue("the reply has no cursor");
    }
    bson::Element ns = cursor.document().find("ns");
    bson::Element documents = cursor.document().find(batchName);
    if (!ns.isString() || !documents.isArray()) {
        return badValue("the reply's cursor has no namespace or no batch");
    }
    std::string_view name = ns.stringValue();
    Batch batch;
    batch.cursorId = cursor.document().find("id").toInt64();
    batch.collection = name.substr(name.find('.') + 1);  // npos + 1 is 0
    batch.documents = documents.document();
    return batch;
}

/// Returns false when `each` wants no more.
bool visit(bson::Document batch, const std::function<bool(bson::Document)>& each) {
    for (const bson::Element& element : batch) {
        if (element.isObject() && !each(element.document())) {
            return false;
        }
    }
    return true;
}

Status killCursor(Connection& connection, std::string_view database, const Batch& batch) {
    bson::Builder command;
    command.add("killCursors", batch.collection);
    command.array("cursors").push(batch.cursorId);
    std::string bytes = command.finish();
    return connection.runChecked(database, bson::Document(bytes)).status();
}

}  // namespace

Status forEach(Connection& connection,
               std::string_view database,
               bson::Document command,
               const std::function<bool(bson::Document)>& each) {
    FRESHET_ASSIGN_OR_RETURN(bson::OwnedDocument reply, connection.runChecked(database, command));
    std::string_view batchName = "firstBatch";
    for (;;) {
        FRESHET_ASSIGN_OR_RETURN(Batch batch, batchOf(reply.view(), batchName));
        bool goOn = visit(batch.documents, each);
        if (batch.cursorId == 0) {
            return Status::ok();
        }
        if (!goOn) {
            return killCursor(connection, database, batch);
        }
        bson::Builder getMore;
        getMore.add("getMore", batch.cursorId).add("collection", batch.collection);
        std::string bytes = getMore.finish();
        FRESHET_ASSIGN_OR_RETURN(reply, connection.runChecked(database, bson::Document(bytes)));
        batchName = "nextBatch";
    }
}

}  // namespace freshet::client
