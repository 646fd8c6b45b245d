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
    std::vector<uint64_t> valueBytes{1024};  // each is measured; of op model, of the whole binary
    unsigned putPercent = 50;                // of mixed
    unsigned seconds = 5;
    unsigned threads = 2;  // of the load generator
    uint64_t records = 0;  // 0: 100,000, or as many as kRecordBytesMost holds
    bool durable = true;   // of put
    bool withEcho = false;
    unsigned idle = 0;  // connections that say hello and then nothing, while all is measured again
    bool json = false;
    bool stages = false;   // also what the server and the system count
    bool rdma = false;     // connections must go over RDMA
    bool oneSlot = false;  // and that in document 003's layout
    std::string uri;       // empty: a server of our own
    int64_t pid = 0;       // with uri: whose processor time to take
    std::string dataDir;   // where our own server's data goes; empty: the system's temporary one
};

inline constexpr uint64_t kValueBytesMax = 16'000'000;  // of a document
/// How many records get chooses from, when nobody has said it.
uint64_t recordsFor(const WireOptions& options, uint64_t valueBytes);

/// `arguments` after "wire". kInvalid with a text for the user.
StatusOr<WireOptions> parseWireOptions(const std::vector<std::string>& arguments);

std::string_view wireUsage();

}  // namespace freshet::bench
