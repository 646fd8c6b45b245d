// SPDX-License-Identifier: Apache-2.0
/// The program `freshet-rdma-proxy`.
#include "freshet/platform/allocator.h"
#include "freshet/platform/signals.h"
#include "freshet/proxy/options.h"
#include "freshet/proxy/proxy.h"
#include "freshet/telemetry/log.h"

#include <cstdio>

namespace freshet::proxy {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;

int fail(const Status& why, int exitCode) {
    std::fprintf(stderr, "freshet-rdma-proxy: %s\n", std::string(why.text()).c_str());
    return exitCode;
}

/// This machine's adapters. Without any, the reason.
StatusOr<std::shared_ptr<transport::verbs::Verbs>> findAdapters() {
    FRESHET_ASSIGN_OR_RETURN(auto verbs, transport::verbs::systemVerbs());
    if (verbs->ports().empty()) {
        return Status(Code::kNotFound, "This machine has no RDMA device");
    }
    return verbs;
}

int runProxy(const std::vector<std::string>& arguments) {
    auto parsed = parseCommandLine(arguments);
    if (!parsed.isOk()) {
        return fail(parsed.status(), kExitUsage);
    }
    if (parsed->wantsHelp) {
        std::fputs(usage().data(), stdout);
        return 0;
    }
    platform::holdSignals();
    auto adapters = findAdapters();
    if (!adapters.isOk() && parsed->proxy.requireRdma) {
        return fail(adapters.status(), kExitFailure);
    }
    if (adapters.isOk()) {
        parsed->proxy.verbs = std::move(*adapters);
    } else {
        telemetry::logWarning(
            "proxy", std::string(adapters.status().text()) + ": every connection goes over TCP");
    }
    auto proxy = Proxy::start(parsed->proxy);
    if (!proxy.isOk()) {
        return fail(proxy.status(), kExitFailure);
    }
    for (const std::string& address : (*proxy)->addresses()) {
        telemetry::logInfo("proxy", "Waiting for drivers on " + address);
    }
    platform::Signal signal;
    do {
        signal = platform::waitForSignal();
    } while (signal.kind != platform::Signal::Kind::kEnd);
    telemetry::logInfo("proxy", "Ending: " + signal.name);
    return 0;
}

}  // namespace
}  // namespace freshet::proxy

int main(int argc, char** argv) {
    return freshet::proxy::runProxy(std::vector<std::string>(argv + 1, argv + argc));
}
