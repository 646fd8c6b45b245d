// SPDX-License-Identifier: Apache-2.0
/// freshet-bench: measures a server from outside.
#include "freshet/bench/echo_server.h"
#include "freshet/bench/options.h"
#include "freshet/bench/wire_bench.h"

#include <cstdio>
#include <cstdlib>

namespace {

int fail(const freshet::Status& status) {
    std::fprintf(stderr, "freshet-bench: %s\n", status.toString().c_str());
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const std::string mode = arguments.empty() ? "" : arguments[0];
    if (mode == "echo-server" && arguments.size() == 3) {  // for our own use
        return freshet::bench::runEchoServer(static_cast<uint16_t>(std::atoi(argv[2])),
                                             static_cast<size_t>(std::atoll(argv[3])));
    }
    if (mode != "wire") {
        const bool asked = mode == "--help" || mode == "help";
        std::fputs(freshet::bench::usageText().data(), asked ? stdout : stderr);
        return asked ? 0 : 2;
    }
    auto options = freshet::bench::parseWireOptions({arguments.begin() + 1, arguments.end()});
    if (!options.isOk()) {
        return fail(options.status());
    }
    freshet::Status status = freshet::bench::runWireBench(*options);
    return status.isOk() ? 0 : fail(status);
}
