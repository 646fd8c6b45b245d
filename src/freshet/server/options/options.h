// SPDX-License-Identifier: Apache-2.0
/// The command line of freshetd. Names and texts follow mongod where it has the option.
#pragma once

#include "freshet/base/status.h"
#include "freshet/bson/builder.h"

#include <cstdint>
#include <string>
#include <vector>

namespace freshet::server {

struct Options {
    std::string dbPath = "/data/db";
    uint16_t port = 27017;
    std::vector<std::string> bindAddresses{"127.0.0.1"};
    bool unsafeListenWithoutAuth = false;
    uint32_t journalCommitIntervalMs = 100;
    uint32_t connectionsMax = 65'536;
    unsigned reactors = 0;  // 0: one per core
    bool enableTestCommands = false;
    bool showHelp = false;
    bool showVersion = false;
    /// What was given, in the shape of a configuration file, for getCmdLineOpts.
    bson::OwnedDocument parsed;
};

/// `arguments` without the program's name. kInvalid with a text for the operator.
StatusOr<Options> parseOptions(const std::vector<std::string>& arguments);

/// What --help prints.
std::string_view helpText();

}  // namespace freshet::server
