// SPDX-License-Identifier: Apache-2.0
/// The log as the settings want it, and what it says first.
#pragma once

#include "freshet/base/status.h"
#include "freshet/server/options/settings.h"

#include <string>

namespace freshet::server {

/// Destination, time format, verbosity. kIo: the file cannot be opened.
Status openLog(const LogSettings& settings);

struct Versions {
    std::string own;     // of this program
    std::string served;  // of MongoDB's, whose behaviour is served
};
/// Who starts with what, and what of it has no effect.
void logStart(const Settings& settings, const Versions& versions);
/// What an operator should know before relying on the server; shells show it on connecting.
void logStartupWarnings(const Settings& settings);

/// Puts a new log file in the place of the old, as settings say. kIo: see rotateLog().
Status rotateLogNow();

}  // namespace freshet::server
