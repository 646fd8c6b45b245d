// SPDX-License-Identifier: Apache-2.0
/// The shell's command line.
#pragma once

#include "freshet/base/status.h"
#include "freshet/client/client.h"

#include <string>
#include <vector>

namespace freshet::shell {

enum class Mode : uint8_t { kCommands, kPing, kEval, kRdmaCheck, kHelp, kVersion };

struct Options {
    Mode mode = Mode::kCommands;
    client::ConnectionString where;
    std::vector<std::string> evals;  // in the order given
    std::vector<std::string> files;  // scripts, run after the evals
    std::string json;                // --json: "relaxed" or "canonical"
    bool quiet = false;
    bool connects = true;       // not --nodb
    bool readsRcFiles = true;   // not --norc
    bool staysForMore = false;  // --shell
    bool tellsWarnings = true;  // not --skipStartupWarnings
    bool asksPassword = false;  // a user is given without a password: ask at the terminal
};

/// `arguments` without the program's name. kInvalid with a text for the user.
StatusOr<Options> parseOptions(const std::vector<std::string>& arguments);

std::string usage();
std::string versionText();
std::string versionNumber();

}  // namespace freshet::shell
