// SPDX-License-Identifier: Apache-2.0
/// Opens the log as the settings say, and writes its first lines.
#pragma once

#include "freshet/base/status.h"
#include "freshet/server/options/settings.h"

#include <string>

namespace freshet::server {

/// Destination, time format, verbosity. kIo: the file cannot be opened.
Status openLog(const LogSettings& settings);

struct Versions {
    std::string own;     // of this program
    std::string served;  // of MongoDB, the version whose behaviour is served
};
/// Logs the program, its versions and options, and which options have no effect.
void logStart(const Settings& settings, const Versions& versions);
/// What an operator should know before relying on the server; shells show it on connecting.
void logStartupWarnings(const Settings& settings);

/// Starts a new log file as the settings say. kIo: see rotateLog().
Status rotateLogNow();

}  // namespace freshet::server
