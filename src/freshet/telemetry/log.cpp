// SPDX-License-Identifier: Apache-2.0
/// One line per event: time, severity, component, text. spdlog carries it to standard error; a ring
/// keeps the newest for getLog. The line is made here once, so that both show the same.
#include "freshet/telemetry/log.h"

#include "freshet/platform/clock.h"
#include "freshet/sync/atomic.h"
#include "freshet/sync/mutex.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <time.h>

#include <array>
#include <cstdio>
#include <mutex>

namespace freshet::telemetry {
namespace {

constexpr size_t kLinesKept = 1024;
constexpr size_t kTextBytesMax = 16 * 1024;

/// Never destroyed: threads may log while static objects end.
struct Log {
    Log() : logger("freshet", std::make_shared<spdlog::sinks::stderr_sink_mt>()) {
        logger.set_pattern("%v");
        logger.set_level(spdlog::level::trace);
    }
    spdlog::logger logger;
    /// Lines below it are dropped. Any thread reads and writes; nothing else hangs on it.
    sync::Atomic<uint8_t> least{static_cast<uint8_t>(Severity::kInfo)};
    sync::Mutex mutex;                         // leaf
    std::array<std::string, kLinesKept> ring;  // guarded by mutex
    uint64_t lines = 0;                        // ever kept; guarded by mutex
};

Log& theLog() {
    static auto& instance = *new Log;
    return instance;
}

char letterOf(Severity severity) {
    return "DIWEF"[static_cast<size_t>(severity)];
}

/// "2026-11-20T21:05:00.123Z"
std::string isoTime(int64_t wallMillis) {
    time_t seconds = wallMillis / 1000;
    tm parts;
    ::gmtime_r(&seconds, &parts);
    char day[32];
    char all[40];
    std::strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &parts);
    std::snprintf(all, sizeof(all), "%s.%03dZ", day, static_cast<int>(wallMillis % 1000));
    return all;
}

/// Line breaks and other control characters become escapes; an over-long text is cut.
void appendEscaped(std::string& line, std::string_view text) {
    for (char c : text.substr(0, kTextBytesMax)) {
        if (c == '\n') {
            line += "\\n";
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            char escape[8];
            std::snprintf(escape, sizeof(escape), "\\x%02x", static_cast<unsigned char>(c));
            line += escape;
        } else {
            line += c;
        }
    }
    if (text.size() > kTextBytesMax) {
        line += "...";
    }
}

spdlog::level::level_enum levelOf(Severity severity) {
    static constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug,
                                                            spdlog::level::info,
                                                            spdlog::level::warn,
                                                            spdlog::level::err,
                                                            spdlog::level::critical};
    return kLevels[static_cast<size_t>(severity)];
}

}  // namespace

void log(Severity severity, std::string_view component, std::string_view text) {
    Log& out = theLog();
    // [log.level] relaxed: a line more or less around the change does not matter.
    if (static_cast<uint8_t>(severity) < out.least.load(sync::kRelaxed)) {
        return;
    }
    std::string line = isoTime(platform::wallMillis());
    line += ' ';
    line += letterOf(severity);
    line += ' ';
    line += component;
    line += ": ";
    appendEscaped(line, text);
    out.logger.log(levelOf(severity), spdlog::string_view_t(line.data(), line.size()));
    std::lock_guard<sync::Mutex> lock(out.mutex);
    out.ring[out.lines++ % kLinesKept] = std::move(line);
}

void setLogLevel(Severity least) {
    // [log.level] relaxed, as above.
    theLog().least.store(static_cast<uint8_t>(least), sync::kRelaxed);
}

std::vector<std::string> recentLog() {
    Log& from = theLog();
    std::lock_guard<sync::Mutex> lock(from.mutex);
    std::vector<std::string> lines;
    uint64_t oldest = from.lines > kLinesKept ? from.lines - kLinesKept : 0;
    for (uint64_t i = oldest; i < from.lines; ++i) {
        lines.push_back(from.ring[i % kLinesKept]);
    }
    return lines;
}

}  // namespace freshet::telemetry
