// SPDX-License-Identifier: Apache-2.0
#include "freshet/client/gridfs/bucket_commands.h"

#include "freshet/bson/json.h"

namespace freshet::client {
namespace {

/// {delete: collection, deletes: [{q: {field: id}, limit}]}
std::string deleteCommand(const std::string& collection,
                          std::string_view field,
                          bson::ObjectId id,
                          int32_t limit) {
    bson::Builder command;
    command.add("delete", collection);
    {
        bson::Builder deletes = command.array("deletes");
        bson::Builder one = deletes.object(deletes.nextIndex());
        one.object("q").add(field, id);
        one.add("limit", limit);
    }
    return command.finish();
}

}  // namespace

StatusOr<bson::OwnedDocument> runWrite(Connection& connection,
                                       const std::string& database,
                                       const std::string& command) {
    FRESHET_ASSIGN_OR_RETURN(bson::OwnedDocument reply,
                             connection.runChecked(database, bson::Document(command)));
    for (const char* name : {"writeErrors", "writeConcernError"}) {
        if (const bson::Element failed = reply.view().find(name)) {
            return Status(Code::kIo, bson::toShellText(failed));
        }
    }
    return reply;
}

Status deleteChunks(Connection& connection, const GridFsBucket& bucket, bson::ObjectId id) {
    return runWrite(connection, bucket.database, deleteCommand(chunksOf(bucket), "files_id", id, 0))
        .status();
}

Status removeFromGridFs(Connection& connection, const GridFsBucket& bucket, bson::ObjectId id) {
    // The file's document first: so a reader finds either the whole file or none.
    FRESHET_ASSIGN_OR_RETURN(
        bson::OwnedDocument reply,
        runWrite(connection, bucket.database, deleteCommand(filesOf(bucket), "_id", id, 1)));
    FRESHET_RETURN_IF_ERROR(deleteChunks(connection, bucket, id));
    return reply.view().find("n").toInt64() == 1
               ? Status::ok()
               : Status(Code::kNotFound, "no file with the id " + id.toHex());
}

}  // namespace freshet::client
