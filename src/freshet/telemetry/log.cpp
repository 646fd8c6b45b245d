// SPDX-License-Identifier: Apache-2.0
/// Decides which lines are written, where, and which are kept. A line is formatted once, so that
/// the file and getLog show the same.
#include "freshet/telemetry/log.h"

#include "freshet/platform/clock.h"
#include "freshet/platform/file.h"
#include "freshet/sync/atomic.h"
#include "freshet/sync/mutex.h"
#include "freshet/telemetry/line/json_line.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <mutex>

namespace freshet::telemetry {
namespace {

constexpr size_t kLinesKept = 1024;
constexpr size_t kStartupWarningsKept = 128;
constexpr int kVerbosityMax = 5;

std::shared_ptr<spdlog::logger> makeLogger(spdlog::sink_ptr sink) {
    auto logger = std::make_shared<spdlog::logger>("freshet", std::move(sink));
    logger->set_pattern("%v");
    logger->set_level(spdlog::level::trace);
    logger->flush_on(spdlog::level::trace);
    return logger;
}

/// Never destroyed: threads may log while static objects end.
struct Log {
    Log() : logger(makeLogger(std::make_shared<spdlog::sinks::stdout_sink_st>())) {
        own.fill(-1);
        own[0] = 0;
    }

    /// Read by isLogged(). Any thread reads and writes both; they publish nothing else.
    sync::Atomic<uint8_t> least{static_cast<uint8_t>(Severity::kInfo)};
    std::array<sync::Atomic<uint8_t>, kComponents> debugLevels{};

    sync::Mutex mutex;  // leaf; guards all below
    std::shared_ptr<spdlog::logger> logger;
    LogDestination destination;
    std::array<int, kComponents> own;          // verbosity as set, -1: like the parent
    std::array<std::string, kLinesKept> ring;  // by line number
    uint64_t lines = 0;                        // total number of lines
    std::vector<std::string> startupWarnings;
};

Log& theLog() {
    static auto& instance = *new Log;
    return instance;
}

std::string& threadContext() {
    thread_local std::string name = "-";
    return name;
}

int debugLevelOf(Severity severity) {
    return static_cast<int>(Severity::kInfo) - static_cast<int>(severity);
}

void write(Severity severity,
           Component component,
           LogId id,
           std::string_view message,
           const LogAttributes& attributes,
           bool isStartupWarning) {
    Log& out = theLog();
    std::lock_guard<sync::Mutex> lock(out.mutex);
    std::string line = renderLine({.wallMillis = platform::wallMillis(),
                                   .utc = out.destination.utc,
                                   .severity = severity,
                                   .component = component,
                                   .id = id,
                                   .context = threadContext(),
                                   .message = message,
                                   .attributes = attributes,
                                   .isStartupWarning = isStartupWarning});
    // Under the lock: lines have the same order everywhere, and none goes to a rotated file.
    out.logger->log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
    if (isStartupWarning && out.startupWarnings.size() < kStartupWarningsKept) {
        out.startupWarnings.push_back(line);
    }
    out.ring[out.lines++ % kLinesKept] = std::move(line);
}

/// Opens the file for appending. spdlog throws; no exception leaves this function.
StatusOr<std::shared_ptr<spdlog::logger>> openFile(const std::string& path) {
    const std::filesystem::path parent = std::filesystem::path(path).parent_path();
    std::error_code ignored;
    // spdlog would create the directory, which hides a mistyped path.
    if (!parent.empty() && !std::filesystem::is_directory(parent, ignored)) {
        return Status(Code::kIo, path + ": no such directory");
    }
    try {
        return makeLogger(std::make_shared<spdlog::sinks::basic_file_sink_st>(path));
    } catch (const spdlog::spdlog_ex& failure) {
        return Status(Code::kIo, failure.what());
    }
}

/// A free name beside the file, after mongod's pattern.
std::string rotatedName(const std::string& path) {
    std::string stamp = isoTime(platform::wallMillis(), true).substr(0, 19);
    std::replace(stamp.begin(), stamp.end(), ':', '-');
    std::string name = path + "." + stamp;
    std::error_code ignored;
    for (int i = 1; std::filesystem::exists(name, ignored) && i < 1000; ++i) {
        name = path + "." + stamp + "-" + std::to_string(i);
    }
    return name;
}

Status putAside(const std::string& path) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) {
        return Status::ok();  // missing, or a device
    }
    return platform::FileSystem::posix().rename(path, rotatedName(path));
}

}  // namespace

bool isLogged(Severity severity, Component component) {
    Log& log = theLog();
    // [log.level] relaxed: a line more or less around a change does not matter.
    if (severity < Severity::kInfo &&
        debugLevelOf(severity) <=
            log.debugLevels[static_cast<size_t>(component)].load(sync::kRelaxed)) {
        return true;
    }
    return static_cast<uint8_t>(severity) >= log.least.load(sync::kRelaxed);
}

void log(Severity severity,
         Component component,
         LogId id,
         std::string_view message,
         const LogAttributes& attributes) {
    if (isLogged(severity, component)) {
        write(severity, component, id, message, attributes, false);
    }
}

void logStartupWarning(Component component,
                       LogId id,
                       std::string_view message,
                       const LogAttributes& attributes) {
    write(Severity::kWarning, component, id, message, attributes, true);
}

void log(Severity severity, std::string_view component, std::string_view text) {
    const RoomLines lines = linesOfRoom(component);
    log(severity, lines.component, lines.id, text);
}

LogContext::LogContext(std::string name)
    : outer_(std::exchange(threadContext(), std::move(name))) {}

LogContext::~LogContext() {
    threadContext() = std::move(outer_);
}

void setLogLevel(Severity least) {
    // [log.level] relaxed, as above.
    theLog().least.store(static_cast<uint8_t>(least), sync::kRelaxed);
}

void setVerbosity(Component component, int level) {
    Log& log = theLog();
    std::lock_guard<sync::Mutex> lock(log.mutex);
    log.own[static_cast<size_t>(component)] =
        std::clamp(level, component == Component::kDefault ? 0 : -1, kVerbosityMax);
    for (size_t i = 0; i < kComponents; ++i) {
        auto from = static_cast<Component>(i);
        while (log.own[static_cast<size_t>(from)] < 0) {
            from = parentOf(from);
        }
        // [log.level] relaxed, as above.
        log.debugLevels[i].store(static_cast<uint8_t>(log.own[static_cast<size_t>(from)]),
                                 sync::kRelaxed);
    }
}

int verbosity(Component component) {
    Log& log = theLog();
    std::lock_guard<sync::Mutex> lock(log.mutex);
    return log.own[static_cast<size_t>(component)];
}

Status setLogDestination(const LogDestination& destination) {
    std::shared_ptr<spdlog::logger> logger;
    if (destination.path.empty()) {
        logger = makeLogger(std::make_shared<spdlog::sinks::stdout_sink_st>());
    } else {
        if (!destination.append) {
            FRESHET_RETURN_IF_ERROR(putAside(destination.path));
        }
        FRESHET_ASSIGN_OR_RETURN(logger, openFile(destination.path));
    }
    Log& log = theLog();
    std::lock_guard<sync::Mutex> lock(log.mutex);
    log.logger = std::move(logger);
    log.destination = destination;
    return Status::ok();
}

Status rotateLog() {
    Log& log = theLog();
    std::lock_guard<sync::Mutex> lock(log.mutex);
    if (log.destination.path.empty()) {
        return Status::ok();
    }
    if (!log.destination.rotateReopens) {
        FRESHET_RETURN_IF_ERROR(putAside(log.destination.path));
    }
    FRESHET_ASSIGN_OR_RETURN(log.logger, openFile(log.destination.path));
    return Status::ok();
}

std::vector<std::string> recentLog() {
    Log& from = theLog();
    std::lock_guard<sync::Mutex> lock(from.mutex);
    std::vector<std::string> lines;
    const uint64_t oldest = from.lines > kLinesKept ? from.lines - kLinesKept : 0;
    for (uint64_t i = oldest; i < from.lines; ++i) {
        lines.push_back(from.ring[i % kLinesKept]);
    }
    return lines;
}

uint64_t logLinesWritten() {
    Log& log = theLog();
    std::lock_guard<sync::Mutex> lock(log.mutex);
    return log.lines;
}

std::vector<std::string> startupWarnings() {
    Log& log = theLog();
    std::lock_guard<sync::Mutex> lock(log.mutex);
    return log.startupWarnings;
}

}  // namespace freshet::telemetry
