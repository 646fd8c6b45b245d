// SPDX-License-Identifier: Apache-2.0
/// `freshet-bench gridfs`: copies a file from standard input into a bucket, or from a bucket to
/// standard output, with the native client. For tests against other drivers, and over RDMA.
#pragma once

#include "freshet/base/status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::bench {

struct GridFsTransferOptions {
    bool isPut = false;  // else it is a get
    std::string filename;
    std::string uri = "mongodb://127.0.0.1";  // names the database too
    std::string bucket = "fs";
    uint64_t chunkBytes = 255 * 1024;  // of a put
};

/// Parses `arguments`, which follow the word "gridfs". Returns kInvalid with a text for the user.
StatusOr<GridFsTransferOptions> parseGridFsTransferOptions(
    const std::vector<std::string>& arguments);

Status runGridFsTransfer(const GridFsTransferOptions& options);

std::string_view gridFsTransferUsage();

}  // namespace freshet::bench
