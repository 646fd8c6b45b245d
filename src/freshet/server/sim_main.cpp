// SPDX-License-Identifier: Apache-2.0
/// freshetd-sim: the server on a disk whose unsynced bytes die with the process, so that kill -9 is
/// a power cut. For crash tests; never installed.
#include "freshet/server/run_server.h"
#include "freshet/testing/sim/sim_file_system.h"

int main(int argc, char** argv) {
    freshet::testing::SimFileSystem files(freshet::platform::FileSystem::posix());
    return freshet::server::runServer(argc, argv, files);
}
