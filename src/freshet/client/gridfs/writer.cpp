// SPDX-License-Identifier: Apache-2.0
#include "freshet/client/gridfs.h"
#include "freshet/client/gridfs/bucket_commands.h"
#include "freshet/platform/clock.h"

#include <algorithm>

namespace freshet::client {
namespace {

constexpr uint32_t kChunkBytesMax = 16'000'000;  // with its other fields it still fits into a
                                                 // document

std::string createIndexCommand(const std::string& collection,
                               std::string_view first,
                               std::string_view second,
                               bool unique) {
    bson::Builder command;
    command.add("createIndexes", collection);
    {
        bson::Builder indexes = command.array("indexes");
        bson::Builder index = indexes.object(indexes.nextIndex());
        index.object("key").add(first, int32_t{1}).add(second, int32_t{1});
        index.add("name", std::string(first) + "_1_" + std::string(second) + "_1");
        if (unique) {
            index.add("unique", true);
        }
    }
    return command.finish();
}

}  // namespace

GridFsWriter::GridFsWriter(Connection& connection, GridFsBucket bucket, std::string filename)
    : connection_(connection),
      bucket_(std::move(bucket)),
      filename_(std::move(filename)),
      id_(bson::ObjectId::generate()),
      batchBytes_(std::max<size_t>(1, kGridFsBatchBytes / bucket_.chunkBytes) *
                  bucket_.chunkBytes) {}

StatusOr<std::unique_ptr<GridFsWriter>> GridFsWriter::open(Connection& connection,
                                                           GridFsBucket bucket,
                                                           std::string filename) {
    if (bucket.chunkBytes == 0 || bucket.chunkBytes > kChunkBytesMax) {
        return badValue("a chunk has 1 to " + std::to_string(kChunkBytesMax) + " bytes");
    }
    std::unique_ptr<GridFsWriter> writer(
        new GridFsWriter(connection, std::move(bucket), std::move(filename)));
    FRESHET_RETURN_IF_ERROR(writer->makeIndexes());
    return writer;
}

Status GridFsWriter::makeIndexes() {
    bson::Builder anyFile;
    anyFile.add("find", filesOf(bucket_)).add("limit", int32_t{1}).add("singleBatch", true);
    anyFile.object("projection").add("_id", int32_t{1});
    const std::string command = anyFile.finish();
    FRESHET_ASSIGN_OR_RETURN(bson::OwnedDocument reply,
                             connection_.runChecked(bucket_.database, bson::Document(command)));
    const bson::Element batch = reply.view().findPath("cursor.firstBatch");
    if (batch.isArray() && !batch.document().isEmpty()) {
        return Status::ok();
    }
    for (const std::string& index :
         {createIndexCommand(filesOf(bucket_), "filename", "uploadDate", false),
          createIndexCommand(chunksOf(bucket_), "files_id", "n", true)}) {
        FRESHET_RETURN_IF_ERROR(
            connection_.runChecked(bucket_.database, bson::Document(index)).status());
    }
    return Status::ok();
}

Status GridFsWriter::write(ByteView bytes) {
    while (!bytes.empty()) {
        const size_t part = std::min(bytes.size(), batchBytes_ - pending_.size());
        pending_.append(bytes.data(), part);
        bytes.remove_prefix(part);
        if (pending_.size() == batchBytes_) {
            FRESHET_RETURN_IF_ERROR(sendChunks(pending_.size()));
        }
    }
    return Status::ok();
}

Status GridFsWriter::sendChunks(size_t bytes) {
    if ((bytesSent_ + bytes) / bucket_.chunkBytes >= INT32_MAX) {
        return Status(Code::kLimit, "the file has more chunks than can be numbered");
    }
    bson::Builder command;
    command.reserve(bytes + 4'096);
    command.add("insert", chunksOf(bucket_));
    {
        bson::Builder documents = command.array("documents");
        for (size_t at = 0; at < bytes; at += bucket_.chunkBytes) {
            const auto n = static_cast<int32_t>((bytesSent_ + at) / bucket_.chunkBytes);
            const size_t end = std::min<size_t>(bytes, at + bucket_.chunkBytes);
            bson::Builder chunk = documents.object(documents.nextIndex());
            chunk.add("_id", bson::ObjectId::generate()).add("files_id", id_).add("n", n);
            chunk.add("data", bson::Binary{0, ByteView(pending_).substr(at, end - at)});
        }
    }
    FRESHET_RETURN_IF_ERROR(runWrite(connection_, bucket_.database, command.finish()).status());
    bytesSent_ += bytes;
    pending_.clear();
    return Status::ok();
}

Status GridFsWriter::close(bson::Document metadata) {
    if (!pending_.empty()) {
        FRESHET_RETURN_IF_ERROR(sendChunks(pending_.size()));
    }
    bson::Builder command;
    command.add("insert", filesOf(bucket_));
    {
        bson::Builder documents = command.array("documents");
        bson::Builder file = documents.object(documents.nextIndex());
        file.add("_id", id_).add("length", static_cast<int64_t>(bytesSent_));
        file.add("chunkSize", static_cast<int32_t>(bucket_.chunkBytes));
        file.add("uploadDate", bson::Date{platform::wallMillis()}).add("filename", filename_);
        if (!metadata.isEmpty()) {
            file.add("metadata", metadata);
        }
    }
    if (bucket_.durable) {
        // The journal is one sequence: when this document is durable, so is everything before it.
        command.object("writeConcern").add("w", int32_t{1}).add("j", true);
    }
    return runWrite(connection_, bucket_.database, command.finish()).status();
}

Status GridFsWriter::abort() {
    pending_.clear();
    return deleteChunks(connection_, bucket_, id_);
}

}  // namespace freshet::client
