// SPDX-License-Identifier: Apache-2.0
/// The whole server as a function, so that freshetd and freshetd-sim differ in their disk alone.
#pragma once

#include "freshet/platform/file.h"

namespace freshet::server {

/// Process exit codes, mongod's where it has one.
enum ExitCode : int {
    kExitClean = 0,
    kExitFailure = 1,  // before anything was opened: log file, process id file, other process
    kExitBadOptions = 2,
    kExitDamagedData = 3,     // acknowledged data is not what was written
    kExitJournalFailed = 14,  // nothing can be acknowledged any more
    kExitNetError = 48,       // an address is in use or cannot be bound
    kExitForkFailed = 50,
    kExitNewerFormat = 62,  // the data files are of a newer version
    kExitDbPath = 100,      // the data directory is missing, unusable or in use
};

/// Runs a server until it is told to end. Main thread. The process's exit code.
int runServer(int argc, char** argv, platform::FileSystem& files);

}  // namespace freshet::server
