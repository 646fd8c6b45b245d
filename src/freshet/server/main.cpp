// SPDX-License-Identifier: Apache-2.0
/// freshetd.
#include "freshet/platform/allocator.h"
#include "freshet/server/run_server.h"

int main(int argc, char** argv) {
    return freshet::server::runServer(argc, argv, {freshet::platform::FileSystem::posix()});
}
