// SPDX-License-Identifier: Apache-2.0
/// Log lines for people and tools, through spdlog, to standard error; the newest are kept for
/// getLog. Any thread. Not for the data path.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::telemetry {

enum class Severity : uint8_t { kDebug, kInfo, kWarning, kError, kFatal };

/// `component` is a room's name. One line; line breaks are escaped.
void log(Severity severity, std::string_view component, std::string_view text);
inline void logInfo(std::string_view component, std::string_view text) {
    log(Severity::kInfo, component, text);
}
inline void logWarning(std::string_view component, std::string_view text) {
    log(Severity::kWarning, component, text);
}
inline void logError(std::string_view component, std::string_view text) {
    log(Severity::kError, component, text);
}

/// Lines below this are dropped. Default kInfo.
void setLogLevel(Severity least);
/// The newest 1,024 lines, oldest first.
std::vector<std::string> recentLog();

}  // namespace freshet::telemetry
