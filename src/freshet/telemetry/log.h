// SPDX-License-Identifier: Apache-2.0
/// The log: one JSON object per line, in the format that tools for mongod's logs read, to standard
/// output or a file, through spdlog. The newest lines and the start-up warnings are kept for
/// getLog. Any thread. Not for the data path.
///
///     log(Severity::kInfo, Component::kNetwork, LogId::kWaitingForConnections,
///         "Waiting for connections", {{"port", 27017}, {"ssl", "off"}});
#pragma once

#include "freshet/base/status.h"
#include "freshet/telemetry/log_ids.h"

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace freshet::telemetry {

enum class Severity : uint8_t {
    kDebug5,
    kDebug4,
    kDebug3,
    kDebug2,
    kDebug1,
    kInfo,
    kWarning,
    kError,
    kFatal,
    kDebug = kDebug1
};

/// mongod's names, those that we use.
enum class Component : uint8_t {
    kDefault,  // "-"
    kAccess,
    kCommand,
    kControl,
    kIndex,
    kJournal,
    kNetwork,
    kQuery,
    kRecovery,
    kReplication,
    kSharding,
    kStorage,
    kTransaction,
    kWrite,
};
inline constexpr size_t kComponents = 14;

/// Text that is already JSON, such as a document.
struct JsonText {
    std::string text;
};

/// One name and value of a line's `attr`.
struct LogAttribute {
    template <std::integral T>
        requires(!std::same_as<T, bool>)
    LogAttribute(std::string_view key, T number) : name(key), value(static_cast<int64_t>(number)) {}
    LogAttribute(std::string_view key, bool flag) : name(key), value(flag) {}
    LogAttribute(std::string_view key, double number) : name(key), value(number) {}
    LogAttribute(std::string_view key, std::string_view text)
        : name(key), value(std::string(text)) {}
    LogAttribute(std::string_view key, const std::string& text) : name(key), value(text) {}
    LogAttribute(std::string_view key, const char* text) : name(key), value(std::string(text)) {}
    LogAttribute(std::string_view key, JsonText json) : name(key), value(std::move(json)) {}
    LogAttribute(std::string_view key, const Status& status)
        : name(key), value(status.toString()) {}

    std::string name;
    std::variant<int64_t, bool, double, std::string, JsonText> value;
};
using LogAttributes = std::vector<LogAttribute>;

/// Writes one line. Attributes beyond 10 KiB are cut.
void log(Severity severity,
         Component component,
         LogId id,
         std::string_view message,
         const LogAttributes& attributes = {});
/// A warning that getLog keeps for the life of the process and that shells show on connecting.
void logStartupWarning(Component component,
                       LogId id,
                       std::string_view message,
                       const LogAttributes& attributes = {});
/// Whether log() would write; avoids building attributes.
bool isLogged(Severity severity, Component component);

/// Short form with a room's name as `component`, for lines that no script searches for.
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

/// Names what the calling thread works for ("conn12", "listener") in the lines that it writes while
/// this object lives. Scopes nest.
class LogContext {
public:
    explicit LogContext(std::string name);
    ~LogContext();
    LogContext(const LogContext&) = delete;
    LogContext& operator=(const LogContext&) = delete;

private:
    std::string outer_;
};

/// Lines below this are dropped, except for components with a verbosity of their own. Default
/// kInfo.
void setLogLevel(Severity least);
/// Shows 0 to 5 debug levels for the component (kDefault: for all that have none of their own); -1:
/// like its parent.
void setVerbosity(Component component, int level);
int verbosity(Component component);
/// Takes a name such as "storage.journal", as in a configuration file; empty or "default":
/// kDefault. kNotFound: no such component.
StatusOr<Component> componentByName(std::string_view name);
/// The inverse of it.
std::string_view componentName(Component component);

/// Where lines are written, and how they show time.
struct LogDestination {
    std::string path;  // empty: standard output
    /// An existing file is appended to; else it is renamed as by rotation.
    bool append = false;
    /// Rotation reopens the file, for tools that have moved it away; else it first renames it to
    /// path.YYYY-MM-DDTHH-MM-SS.
    bool rotateReopens = false;
    bool utc = false;
};
/// kIo: the file cannot be opened; the destination is unchanged.
Status setLogDestination(const LogDestination& destination);
/// No effect without a file. kIo: the file could not be renamed or opened; the old file stays in
/// use.
Status rotateLog();

/// The newest 1,024 lines, oldest first.
std::vector<std::string> recentLog();
/// Total number of lines written.
uint64_t logLinesWritten();
/// The lines of logStartupWarning().
std::vector<std::string> startupWarnings();

}  // namespace freshet::telemetry
