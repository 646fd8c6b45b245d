// SPDX-License-Identifier: Apache-2.0
/// The command line of `freshet-bench wire`.
#pragma once

#include "freshet/base/status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace freshet::bench {

struct WireOptions {
    std::vector<std::string> ops{"get", "put"};
    std::vector<unsigned> clients{1, 8, 64};
    std::vector<uint64_t> valueBytes{1024};            // each is measured; op model: of the binary
    std::vector<std::string> durabilities{"durable"};  // each is measured, of puts and models
    unsigned putPercent = 50;                          // for op mixed
    unsigned seconds = 5;
    unsigned threads = 2;  // of the load generator
    uint64_t records = 0;  // 0: 100,000, or as many as kRecordBytesMost holds
    bool withEcho = false;
    bool driver = false;  // one blocking connection for each thread
    unsigned idle = 0;  // connections that send one get and stay open, while all is measured again
    bool json = false;
    bool stages = false;   // also report what the server and the system count
    bool rdma = false;     // connections must use RDMA
    bool oneSlot = false;  // with one message-sized buffer per direction instead of rings
    std::string uri;       // empty: start a server of our own
    int64_t pid = 0;       // with uri: the process whose processor time is taken
    std::string dataDir;   // where our own server's data goes; empty: the system's temporary folder
};

inline constexpr uint64_t kValueBytesMax = 16'000'000;  // of a document
/// The number of records that gets choose from, if the option was not given.
uint64_t recordsFor(const WireOptions& options, uint64_t valueBytes);

/// Parses `arguments`, which follow the word "wire". Returns kInvalid with a text for the user.
StatusOr<WireOptions> parseWireOptions(const std::vector<std::string>& arguments);

std::string_view wireUsage();

}  // namespace freshet::bench
