// SPDX-License-Identifier: Apache-2.0
/// freshetd-sim: the server on a disk whose unsynced bytes and names are lost with the process, so
/// that kill -9 is a power cut. For crash tests; never installed. Controlled by:
///
///   FRESHET_SEED      for everything random (default 1)
///   FRESHET_SIM_LEAK  probability that an unsynced sector or name reaches the disk all the same
///   standard input    one fault a line (testing/sim/fault_text.h), read at any time, so that
///                     faults can wait until the server runs; "cancel" cancels all so far
///
/// Each fault that fires is printed on standard error.
///
/// It has one option of its own: --simRdma is freshetd's --rdma with adapters in memory, whose
/// completions are sometimes late. Other processes cannot reach these adapters, so this process
/// also runs freshet-rdma-proxy's listener for drivers without RDMA, on a port that the log names.
#include "freshet/platform/signals.h"
#include "freshet/platform/thread.h"
#include "freshet/proxy/proxy.h"
#include "freshet/server/run_server.h"
#include "freshet/telemetry/log.h"
#include "freshet/testing/net/sim_verbs.h"
#include "freshet/testing/sim/fault_text.h"
#include "freshet/testing/sim/faulty_file_system.h"
#include "freshet/testing/sim/sim_file_system.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <vector>

namespace {

using freshet::testing::FaultPlan;

void takeFaults(FaultPlan& plan) {
    std::vector<size_t> rules;
    for (std::string line; std::getline(std::cin, line);) {
        if (line == "cancel") {
            for (const size_t rule : rules) {
                plan.cancel(rule);
            }
            continue;
        }
        auto rule = freshet::testing::parseFault(line);
        if (rule.isOk()) {
            rules.push_back(plan.add(std::move(*rule)));
        } else {
            std::fprintf(stderr, "%s\n", rule.status().toString().c_str());
        }
    }
}

const char* setting(const char* name, const char* otherwise) {
    const char* given = std::getenv(name);
    return given != nullptr ? given : otherwise;
}

/// True when --simRdma was given, which is then replaced by freshetd's own option.
bool takeRdmaOption(int argc, char** argv) {
    static char ofServer[] = "--rdma";
    char** const end = argv + argc;
    char** const found = std::find(argv, end, std::string_view("--simRdma"));
    if (found == end) {
        return false;
    }
    *found = ofServer;
    return true;
}

std::shared_ptr<freshet::transport::verbs::Verbs> makeAdapters(uint64_t seed) {
    freshet::testing::SimVerbsOptions options;
    options.seed = seed;
    options.latenessMax = 3;
    return std::make_shared<freshet::testing::SimVerbs>(options);
}

/// Everything that arrives there goes to the server over RDMA, or fails.
std::unique_ptr<freshet::proxy::Proxy> openProxy(
    std::shared_ptr<freshet::transport::verbs::Verbs> adapters, uint16_t serverPort) {
    freshet::proxy::ProxyOptions options;
    options.listenPort = 0;
    options.serverHost = "127.0.0.1";
    options.serverPort = serverPort;
    options.requireRdma = true;
    options.connectMillis = options.probeMillisMax = 30'000;  // tests run on busy machines
    options.verbs = std::move(adapters);
    auto opened = freshet::proxy::Proxy::start(options);
    if (!opened.isOk()) {
        std::fprintf(stderr, "%s\n", opened.status().toString().c_str());
        std::_Exit(freshet::server::kExitNetError);
    }
    for (const std::string& address : (*opened)->addresses()) {
        freshet::telemetry::logInfo("proxy", "Waiting for drivers on " + address);
    }
    return std::move(*opened);
}

}  // namespace

int main(int argc, char** argv) {
    freshet::platform::holdSignals();  // before another thread exists that they could be delivered
                                       // to
    const uint64_t seed = std::strtoull(setting("FRESHET_SEED", "1"), nullptr, 10);
    freshet::testing::SimFileSystem disk(freshet::platform::FileSystem::posix());
    disk.leak(std::strtod(setting("FRESHET_SIM_LEAK", "0"), nullptr), seed);
    FaultPlan plan(seed);
    plan.onFired([](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); });
    freshet::testing::FaultyFileSystem files(disk, plan);
    freshet::platform::Thread listener("faults", [&plan] { takeFaults(plan); });
    freshet::server::Surroundings surroundings{files};
    std::unique_ptr<freshet::proxy::Proxy> proxy;
    if (takeRdmaOption(argc, argv)) {
        surroundings.adapters = makeAdapters(seed);
        surroundings.onOpen = [&](uint16_t port) {
            proxy = openProxy(surroundings.adapters, port);
        };
    }
    const int code = freshet::server::runServer(argc, argv, surroundings);
    // The thread that reads faults cannot be woken.
    std::_Exit(code);
}
