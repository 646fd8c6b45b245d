// SPDX-License-Identifier: Apache-2.0
/// freshet-bench: measures a server from outside, and compares storage engines.
#include "freshet/bench/commerce_bench.h"
#include "freshet/bench/echo_server.h"
#include "freshet/bench/engine_bench.h"
#include "freshet/bench/gridfs_transfer.h"
#include "freshet/bench/lines_bench.h"
#include "freshet/bench/options.h"
#include "freshet/bench/wire_bench.h"
#include "freshet/platform/allocator.h"

#include <cstdio>
#include <cstdlib>

namespace {

int end(const freshet::Status& status) {
    if (!status.isOk()) {
        std::fprintf(stderr, "freshet-bench: %s\n", status.toString().c_str());
    }
    return status.isOk() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const std::string mode = arguments.empty() ? "" : arguments[0];
    if (mode == "echo-server" && arguments.size() == 3) {  // internal use only
        return freshet::bench::runEchoServer(static_cast<uint16_t>(std::atoi(argv[2])),
                                             static_cast<size_t>(std::atoll(argv[3])));
    }
    const std::vector<std::string> rest(arguments.empty() ? arguments.end() : arguments.begin() + 1,
                                        arguments.end());
    if (mode == "engine") {
        auto options = freshet::bench::parseEngineOptions(rest);
        return end(options.isOk() ? freshet::bench::runEngineBench(*options) : options.status());
    }
    if (mode == "wire") {
        auto options = freshet::bench::parseWireOptions(rest);
        return end(options.isOk() ? freshet::bench::runWireBench(*options) : options.status());
    }
    if (mode == "commerce") {
        auto options = freshet::bench::parseCommerceOptions(rest);
        return end(options.isOk() ? freshet::bench::runCommerceBench(*options) : options.status());
    }
    if (mode == "gridfs") {
        auto options = freshet::bench::parseGridFsTransferOptions(rest);
        return end(options.isOk() ? freshet::bench::runGridFsTransfer(*options) : options.status());
    }
    if (mode == "lines" && rest.empty()) {
        return end(freshet::bench::runLinesBench());
    }
    const bool asked = mode == "--help" || mode == "help";
    std::fputs(freshet::bench::wireUsage().data(), asked ? stdout : stderr);
    std::fputs(freshet::bench::engineUsage().data(), asked ? stdout : stderr);
    std::fputs(freshet::bench::commerceUsage().data(), asked ? stdout : stderr);
    std::fputs(freshet::bench::gridFsTransferUsage().data(), asked ? stdout : stderr);
    std::fputs(freshet::bench::linesUsage().data(), asked ? stdout : stderr);
    return asked ? 0 : 2;
}
