// SPDX-License-Identifier: Apache-2.0
/// Chunks are fetched by ranges of their numbers, with one query for each range, so that nothing
/// stays open on the server between calls.
#include "freshet/bson/json.h"
#include "freshet/client/gridfs.h"
#include "freshet/client/gridfs/bucket_commands.h"

#include <algorithm>

namespace freshet::client {

GridFsReader::GridFsReader(Connection& connection, GridFsBucket bucket, bson::OwnedDocument file)
    : connection_(connection), bucket_(std::move(bucket)), file_(std::move(file)) {}

StatusOr<std::unique_ptr<GridFsReader>> GridFsReader::openNewest(Connection& connection,
                                                                 const GridFsBucket& bucket,
                                                                 std::string_view filename) {
    bson::Builder filter;
    filter.add("filename", filename);
    const std::string bytes = filter.finish();
    return find(connection, bucket, bson::Document(bytes), "'" + std::string(filename) + "'");
}

StatusOr<std::unique_ptr<GridFsReader>> GridFsReader::open(Connection& connection,
                                                           const GridFsBucket& bucket,
                                                           bson::ObjectId id) {
    bson::Builder filter;
    filter.add("_id", id);
    const std::string bytes = filter.finish();
    return find(connection, bucket, bson::Document(bytes), "with the id " + id.toHex());
}

StatusOr<std::unique_ptr<GridFsReader>> GridFsReader::find(Connection& connection,
                                                           const GridFsBucket& bucket,
                                                           bson::Document filter,
                                                           const std::string& what) {
    bson::Builder command;
    command.add("find", filesOf(bucket)).add("filter", filter);
    command.object("sort").add("uploadDate", int32_t{-1});
    command.add("limit", int32_t{1}).add("singleBatch", true);
    const std::string bytes = command.finish();
    FRESHET_ASSIGN_OR_RETURN(bson::OwnedDocument reply,
                             connection.runChecked(bucket.database, bson::Document(bytes)));
    const bson::Element file = reply.view().findPath("cursor.firstBatch.0");
    if (!file.isObject()) {
        return Status(Code::kNotFound, "no file " + what + " in " + filesOf(bucket));
    }
    std::unique_ptr<GridFsReader> reader(
        new GridFsReader(connection, bucket, bson::OwnedDocument(file.document())));
    FRESHET_RETURN_IF_ERROR(reader->takeFileFields());
    return reader;
}

Status GridFsReader::takeFileFields() {
    int64_t length = 0;
    int64_t chunkBytes = 0;
    const bool areNumbers = file().find("length").toExactInt64(&length) &&
                            file().find("chunkSize").toExactInt64(&chunkBytes);
    if (!areNumbers || !file().has("_id") || length < 0 || chunkBytes <= 0 ||
        length / chunkBytes >= INT32_MAX) {
        return corrupt("its document is invalid");
    }
    length_ = static_cast<uint64_t>(length);
    chunkBytes_ = static_cast<uint64_t>(chunkBytes);
    return Status::ok();
}

StatusOr<ByteView> GridFsReader::next() {
    // A file without bytes has no chunks, or, from an old driver, an empty one: neither is read.
    if (nextChunk_ == chunkCount() && !hasFetched()) {
        return ByteView();
    }
    if (!hasFetched()) {
        FRESHET_RETURN_IF_ERROR(fetch());
    }
    if (!hasFetched()) {
        return corrupt("chunk " + std::to_string(nextChunk_) + " of " +
                       std::to_string(chunkCount()) + " is missing, and all after it");
    }
    const bson::Element chunk = *chunks_->first;
    if (nextChunk_ == chunkCount()) {
        return corrupt("there are more chunks than " + std::to_string(chunkCount()) +
                       ", which have all of its bytes");
    }
    FRESHET_ASSIGN_OR_RETURN(ByteView bytes, check(chunk.document()));
    ++chunks_->first;
    ++nextChunk_;
    return bytes;
}

/// Fetches the next chunks; with the last ones, one more than there should be.
Status GridFsReader::fetch() {
    const uint64_t left = chunkCount() - nextChunk_;
    const uint64_t atATime = std::max<uint64_t>(1, kGridFsBatchBytes / chunkBytes_);
    const uint64_t limit = left <= atATime ? left + 1 : atATime;
    bson::Builder command;
    command.add("find", chunksOf(bucket_));
    {
        bson::Builder filter = command.object("filter");
        filter.addAs("files_id", file().find("_id"));
        filter.object("n").add("$gte", static_cast<int32_t>(nextChunk_));
    }
    command.object("sort").add("n", int32_t{1});
    const auto limitNumber = static_cast<int32_t>(limit);
    command.add("limit", limitNumber).add("batchSize", limitNumber).add("singleBatch", true);
    const std::string bytes = command.finish();
    FRESHET_ASSIGN_OR_RETURN(reply_,
                             connection_.runChecked(bucket_.database, bson::Document(bytes)));
    const bson::Element batch = reply_.view().findPath("cursor.firstBatch");
    if (!batch.isArray()) {
        return badValue("the reply to a find has no batch");
    }
    chunks_.emplace(batch.document().begin(), batch.document().end());
    return Status::ok();
}

StatusOr<ByteView> GridFsReader::check(bson::Document chunk) const {
    const std::string name = "chunk " + std::to_string(nextChunk_);
    int64_t n = -1;
    if (!chunk.find("n").toExactInt64(&n) || n < 0) {
        return corrupt(name + " has no number");
    }
    if (static_cast<uint64_t>(n) < nextChunk_) {
        return corrupt("chunk " + std::to_string(n) + " is there twice");
    }
    if (static_cast<uint64_t>(n) > nextChunk_) {
        return corrupt(name + " of " + std::to_string(chunkCount()) + " is missing: the next is " +
                       std::to_string(n));
    }
    const bson::Element data = chunk.find("data");
    if (data.type() != bson::Type::kBinary) {
        return corrupt(name + " has no data");
    }
    const uint64_t wanted = std::min(chunkBytes_, length_ - nextChunk_ * chunkBytes_);
    const ByteView bytes = data.binaryValue().bytes;
    if (bytes.size() != wanted) {
        return corrupt(name + " has " + std::to_string(bytes.size()) + " bytes, not " +
                       std::to_string(wanted));
    }
    return bytes;
}

Status GridFsReader::corrupt(const std::string& what) const {
    const bson::Element id = file().find("_id");
    return Status(Code::kCorruption,
                  "the file " + (id ? bson::toShellText(id) : "without an id") + " of " +
                      filesOf(bucket_) + ": " + what);
}

}  // namespace freshet::client
