// SPDX-License-Identifier: Apache-2.0
/// freshetd-sim: the server on a disk whose unsynced bytes and names die with the process, so that
/// kill -9 is a power cut. For crash tests; never installed. Told from outside:
///
///   FRESHET_SEED      for all that is drawn (default 1)
///   FRESHET_SIM_LEAK  chance with which an unsynced sector or name reaches the disk nevertheless
///   standard input    one fault a line (testing/sim/fault_text.h), taken as it comes, so that the
///                     faults can wait until the server is up; "cancel" ends all so far
///
/// Each fault that fires is printed on standard error.
#include "freshet/platform/thread.h"
#include "freshet/server/run_server.h"
#include "freshet/testing/sim/fault_text.h"
#include "freshet/testing/sim/faulty_file_system.h"
#include "freshet/testing/sim/sim_file_system.h"

#include <cstdio>
#include <cstdlib>
#include <iostream>
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

}  // namespace

int main(int argc, char** argv) {
    const uint64_t seed = std::strtoull(setting("FRESHET_SEED", "1"), nullptr, 10);
    freshet::testing::SimFileSystem disk(freshet::platform::FileSystem::posix());
    disk.leak(std::strtod(setting("FRESHET_SIM_LEAK", "0"), nullptr), seed);
    FaultPlan plan(seed);
    plan.onFired([](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); });
    freshet::testing::FaultyFileSystem files(disk, plan);
    freshet::platform::Thread listener("faults", [&plan] { takeFaults(plan); });
    int code = freshet::server::runServer(argc, argv, files);
    // The listener cannot be woken from its reading.
    std::_Exit(code);
}
