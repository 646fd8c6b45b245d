// SPDX-License-Identifier: Apache-2.0
/// The whole server as a function, so that freshetd and freshetd-sim differ only in the system
/// below it.
#pragma once

#include "freshet/platform/file.h"
#include "freshet/transport/verbs.h"

#include <cstdint>
#include <functional>
#include <memory>

namespace freshet::server {

/// Process exit codes, mongod's where it has one.
enum ExitCode : int {
    kExitClean = 0,
    kExitFailure = 1,  // before any data was opened: log file, process id file, another process
    kExitBadOptions = 2,
    kExitDamagedData = 3,       // acknowledged data is not what was written
    kExitRepairedWithLoss = 4,  // --repair is done, and has given something up
    kExitJournalFailed = 14,    // nothing can be acknowledged any more
    kExitNetError = 48,         // an address is in use or cannot be bound
    kExitForkFailed = 50,
    kExitNewerFormat = 62,  // the data files are of a newer version
    kExitDbPath = 100,      // the data directory is missing, unusable or in use
};

/// What a server runs on.
struct Surroundings {
    platform::FileSystem& files;
    /// For --rdma; null: this machine's adapters.
    std::shared_ptr<transport::verbs::Verbs> adapters = nullptr;
    /// Called on the main thread once connections are accepted, with their port. May be empty.
    std::function<void(uint16_t)> onOpen = nullptr;
};

/// Runs a server until it is told to end. Main thread. Returns the process's exit code.
int runServer(int argc, char** argv, const Surroundings& surroundings);

}  // namespace freshet::server
