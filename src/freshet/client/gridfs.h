// SPDX-License-Identifier: Apache-2.0
/// Large binaries in GridFS: a document in <bucket>.files, and chunks in <bucket>.chunks.
/// Compatible in both directions with the GridFS of all drivers. A few MiB are in memory at a time,
/// never the whole binary.
#pragma once

#include "freshet/client/client.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace freshet::client {

struct GridFsBucket {
    std::string database = "test";
    std::string name = "fs";
    /// For writing; readers use the size in the file's document. 1 to 16,000,000.
    uint32_t chunkBytes = 255 * 1024;
    /// close() returns when the file is on stable storage.
    bool durable = false;
};

/// Writes one file. Own thread; the connection outlives it. After an error, call abort(); without
/// close() no reader sees the file, but its chunks exist.
class GridFsWriter {
public:
    /// Creates the bucket's two indexes when it has no files yet. kInvalid for a chunk size out of
    /// range.
    static StatusOr<std::unique_ptr<GridFsWriter>> open(Connection& connection,
                                                        GridFsBucket bucket,
                                                        std::string filename);
    /// Appends. Sends when enough chunks are full.
    Status write(ByteView bytes);
    /// Sends the rest and the file's document, which makes the file visible. No calls may follow.
    Status close(bson::Document metadata = {});
    /// Deletes the chunks that were sent. Instead of close().
    Status abort();
    bson::ObjectId id() const { return id_; }

private:
    GridFsWriter(Connection& connection, GridFsBucket bucket, std::string filename);
    Status makeIndexes();
    Status sendChunks(size_t bytes);

    Connection& connection_;
    const GridFsBucket bucket_;
    const std::string filename_;
    const bson::ObjectId id_;
    const size_t batchBytes_;  // a whole number of chunks
    std::string pending_;      // written, not yet sent: less than batchBytes_ between calls
    uint64_t bytesSent_ = 0;
};

/// Reads one file, chunk by chunk. Own thread; the connection outlives it.
class GridFsReader {
public:
    /// The newest file with that name. kNotFound; kCorruption when its document is invalid.
    static StatusOr<std::unique_ptr<GridFsReader>> openNewest(Connection& connection,
                                                              const GridFsBucket& bucket,
                                                              std::string_view filename);
    static StatusOr<std::unique_ptr<GridFsReader>> open(Connection& connection,
                                                        const GridFsBucket& bucket,
                                                        bson::ObjectId id);
    /// The next chunk's bytes, valid until the next call; empty at the end of the file.
    /// kCorruption, naming file and chunk, when one is missing, too short or too long, or when
    /// there are more than the file's length needs.
    StatusOr<ByteView> next();
    /// The file's document: _id, length, chunkSize, uploadDate, filename and any other fields.
    bson::Document file() const { return file_.view(); }
    uint64_t length() const { return length_; }
    uint64_t chunkBytes() const { return chunkBytes_; }

private:
    GridFsReader(Connection& connection, GridFsBucket bucket, bson::OwnedDocument file);
    static StatusOr<std::unique_ptr<GridFsReader>> find(Connection& connection,
                                                        const GridFsBucket& bucket,
                                                        bson::Document filter,
                                                        const std::string& what);
    Status takeFileFields();
    bool hasFetched() const { return chunks_ && !(chunks_->first == chunks_->second); }
    Status fetch();
    /// Checks the next chunk and returns its bytes.
    StatusOr<ByteView> check(bson::Document chunk) const;
    Status corrupt(const std::string& what) const;
    uint64_t chunkCount() const { return (length_ + chunkBytes_ - 1) / chunkBytes_; }

    Connection& connection_;
    const GridFsBucket bucket_;
    const bson::OwnedDocument file_;
    uint64_t length_ = 0;
    uint64_t chunkBytes_ = 1;
    uint64_t nextChunk_ = 0;
    bson::OwnedDocument reply_;                        // contains the chunks of chunks_
    std::optional<std::pair<bson::Document::Iterator,  // of reply_'s chunks: the next one
                            bson::Document::Iterator>>
        chunks_;  // and the end
};

/// Removes a file and its chunks. kNotFound when there is no such file; its chunks are removed
/// anyway.
Status removeFromGridFs(Connection& connection, const GridFsBucket& bucket, bson::ObjectId id);

}  // namespace freshet::client
