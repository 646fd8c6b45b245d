// SPDX-License-Identifier: Apache-2.0
/// Stores a file, such as a model's weights, in GridFS and reads it back.
///   store_model 'mongodb://10.9.0.1/models?rdma=true' weights.bin
#include "freshet/client/gridfs.h"

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

using namespace freshet;

namespace {

Status store(client::Connection& connection, const client::GridFsBucket& bucket, const std::string& path) {
    auto writer = client::GridFsWriter::open(connection, bucket, path);
    if (!writer.isOk()) {
        return writer.status();
    }
    std::ifstream file(path, std::ios::binary);
    std::string piece(8 << 20, '\0');
    while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0) {
        const Status written = (*writer)->write(std::string_view(piece.data(), static_cast<size_t>(file.gcount())));
        if (!written.isOk()) {
            return written;
        }
    }
    return (*writer)->close();
}

StatusOr<uint64_t> size(client::Connection& connection, const client::GridFsBucket& bucket, const std::string& name) {
    auto reader = client::GridFsReader::openNewest(connection, bucket, name);
    if (!reader.isOk()) {
        return reader.status();
    }
    for (uint64_t bytes = 0;;) {
        auto chunk = (*reader)->next();
        if (!chunk.isOk()) {
            return chunk.status();
        }
        if (chunk->empty()) {
            return bytes;
        }
        bytes += chunk->size();
    }
}

}  // namespace

int main(int count, char** words) {
    if (count != 3) {
        std::cerr << "store_model URI FILE\n";
        return 2;
    }
    const auto where = client::ConnectionString::parse(words[1]);
    if (!where.isOk()) {
        std::cerr << where.status().text() << '\n';
        return 1;
    }
    auto connection = client::Connection::open(*where);
    if (!connection.isOk()) {
        std::cerr << connection.status().text() << '\n';
        return 1;
    }
    client::GridFsBucket bucket;
    bucket.database = where->database;
    const Status stored = store(**connection, bucket, words[2]);
    const auto bytes = stored.isOk() ? size(**connection, bucket, words[2]) : StatusOr<uint64_t>(stored);
    if (!bytes.isOk()) {
        std::cerr << bytes.status().text() << '\n';
        return 1;
    }
    std::cout << *bytes << " bytes stored and read over " << (*connection)->transportKind() << '\n';
    return 0;
}
