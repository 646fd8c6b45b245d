// SPDX-License-Identifier: Apache-2.0
#include "freshet/server/process/shortages.h"

#include "freshet/platform/limits.h"
#include "freshet/telemetry/log.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <utility>

namespace freshet::server {
namespace {

using telemetry::Component;
using telemetry::LogId;
using telemetry::Severity;

/// Data file, journal, directories, doors and a few connections.
constexpr uint64_t kFilesLeast = 48;
constexpr uint64_t kFilesOfReactor = 4;

int shortageExitCode = EXIT_FAILURE;

[[noreturn]] void endFor(const std::string& why) {
    static bool isEnding = false;
    if (!std::exchange(isEnding, true)) {
        std::fprintf(stderr, "freshetd ends: %s\n", why.c_str());
        telemetry::log(Severity::kFatal,
                       Component::kControl,
                       LogId::kShortage,
                       "The system does not give what the server needs, ending at once",
                       {{"error", why}});
    }
    std::_Exit(shortageExitCode);
}

void nameAndEnd() {
    const std::exception_ptr thrown = std::current_exception();
    try {
        if (thrown != nullptr) {
            std::rethrow_exception(thrown);
        }
    } catch (const std::bad_alloc&) {
        endFor("out of memory; see ulimit -v, ulimit -d and the limits of the container");
    } catch (const std::system_error& error) {
        endFor(std::string(error.what()) +
               "; see ulimit -n (open files), ulimit -u (threads), ulimit -v (memory)");
    } catch (...) {
        // Not a shortage: a core dump is more useful than a message.
    }
    std::abort();
}

}  // namespace

void nameShortages(int exitCode) {
    shortageExitCode = exitCode;
    std::set_terminate(nameAndEnd);
}

Status checkOpenFiles(uint32_t reactors, uint32_t connectionsMax) {
    const uint64_t least = kFilesLeast + kFilesOfReactor * reactors;
    const uint64_t limit = platform::raiseOpenFilesLimit();
    if (limit >= least) {
        if (limit < least + connectionsMax) {
            telemetry::logStartupWarning(
                Component::kControl,
                LogId::kFewFiles,
                "The limit of open files (ulimit -n) is lower than what --maxConns connections "
                "need: clients may be turned away before there are so many",
                {{"currentValue", limit},
                 {"recommendedMinimum", least + connectionsMax},
                 {"maxConns", connectionsMax}});
        }
        return Status::ok();
    }
    return Status(Code::kUnavailable,
                  "Only " + std::to_string(limit) + " files may be open (ulimit -n); with " +
                      std::to_string(reactors) + " reactors the server needs " +
                      std::to_string(least) + ", and one more for each connection");
}

}  // namespace freshet::server
