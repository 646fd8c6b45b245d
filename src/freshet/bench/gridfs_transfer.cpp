// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/gridfs_transfer.h"

#include "freshet/bench/arguments.h"
#include "freshet/client/gridfs.h"

#include <cstdio>
#include <memory>

namespace freshet::bench {
namespace {

const Setters<GridFsTransferOptions>& gridFsSetters() {
    static const Setters<GridFsTransferOptions> all = {
        {"--uri",
         [](GridFsTransferOptions* out, const std::string& value) {
             out->uri = value;
             return Status::ok();
         }},
        {"--bucket",
         [](GridFsTransferOptions* out, const std::string& value) {
             out->bucket = value;
             return Status::ok();
         }},
        {"--chunk-bytes",
         [](GridFsTransferOptions* out, const std::string& value) {
             return byteCount(value, 1, 16'000'000, &out->chunkBytes);
         }},
    };
    return all;
}

Status put(client::Connection& connection,
           const client::GridFsBucket& bucket,
           const std::string& filename) {
    FRESHET_ASSIGN_OR_RETURN(auto writer, client::GridFsWriter::open(connection, bucket, filename));
    constexpr size_t kPartBytes = 256 * 1024;
    const auto part = std::make_unique<char[]>(kPartBytes);
    while (const size_t bytes = std::fread(part.get(), 1, kPartBytes, stdin)) {
        if (Status written = writer->write({part.get(), bytes}); !written.isOk()) {
            (void)writer->abort();
            return written;
        }
    }
    if (std::ferror(stdin) != 0) {
        (void)writer->abort();
        return Status(Code::kIo, "Standard input cannot be read");
    }
    return writer->close();
}

Status get(client::Connection& connection,
           const client::GridFsBucket& bucket,
           const std::string& filename) {
    FRESHET_ASSIGN_OR_RETURN(auto reader,
                             client::GridFsReader::openNewest(connection, bucket, filename));
    for (;;) {
        FRESHET_ASSIGN_OR_RETURN(ByteView part, reader->next());
        if (std::fwrite(part.data(), 1, part.size(), stdout) != part.size() ||
            (part.empty() && std::fflush(stdout) != 0)) {
            return Status(Code::kIo, "Standard output cannot be written");
        }
        if (part.empty()) {
            return Status::ok();
        }
    }
}

}  // namespace

StatusOr<GridFsTransferOptions> parseGridFsTransferOptions(
    const std::vector<std::string>& arguments) {
    GridFsTransferOptions out;
    if (arguments.size() < 2 || (arguments[0] != "put" && arguments[0] != "get")) {
        return badValue("gridfs wants put or get, and a file's name");
    }
    out.isPut = arguments[0] == "put";
    out.filename = arguments[1];
    const std::vector<std::string> rest(arguments.begin() + 2, arguments.end());
    FRESHET_RETURN_IF_ERROR(parseArguments(rest, gridFsSetters(), {}, &out));
    return out;
}

Status runGridFsTransfer(const GridFsTransferOptions& options) {
    FRESHET_ASSIGN_OR_RETURN(client::ConnectionString where,
                             client::ConnectionString::parse(options.uri));
    client::Surroundings around;  // standard output carries the file
    around.notice = [](const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); };
    FRESHET_ASSIGN_OR_RETURN(auto connection, client::Connection::open(where, around));
    client::GridFsBucket bucket;
    bucket.database = where.database;
    bucket.name = options.bucket;
    bucket.chunkBytes = static_cast<uint32_t>(options.chunkBytes);
    return options.isPut ? put(*connection, bucket, options.filename)
                         : get(*connection, bucket, options.filename);
}

std::string_view gridFsTransferUsage() {
    return R"(usage: freshet-bench gridfs put|get NAME [options]
A file from standard input into GridFS, or from there to standard output.
  --uri URI             the server and the database (default mongodb://127.0.0.1, database test);
                        with rdma=true it goes over RDMA where there is one
  --bucket NAME         (default fs)
  --chunk-bytes N       of put (default 255K)
)";
}

}  // namespace freshet::bench
