// SPDX-License-Identifier: Apache-2.0
/// What GridFS needs from a server: the names of a bucket's collections, and writes that succeed
/// only if no part of them failed.
#pragma once

#include "freshet/client/gridfs.h"

#include <string>

namespace freshet::client {

/// At most this many bytes of chunks are sent or in memory at once, unless one chunk is larger.
inline constexpr size_t kGridFsBatchBytes = 4u << 20;

inline std::string filesOf(const GridFsBucket& bucket) {
    return bucket.name + ".files";
}
inline std::string chunksOf(const GridFsBucket& bucket) {
    return bucket.name + ".chunks";
}

/// kIo with the server's text when a part of the write failed.
StatusOr<bson::OwnedDocument> runWrite(Connection& connection,
                                       const std::string& database,
                                       const std::string& command);
/// Deletes the chunks of a file.
Status deleteChunks(Connection& connection, const GridFsBucket& bucket, bson::ObjectId id);

}  // namespace freshet::client
