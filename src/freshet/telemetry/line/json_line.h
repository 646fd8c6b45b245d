// SPDX-License-Identifier: Apache-2.0
/// A log line as text: one JSON object with mongod's fields, order and padding (t s c id ctx msg
/// attr tags truncated size). Pure.
#pragma once

#include "freshet/telemetry/log.h"

#include <string>

namespace freshet::telemetry {

inline constexpr size_t kAttributeBytesMax = 10 * 1024;

struct Line {
    int64_t wallMillis = 0;
    bool utc = false;
    Severity severity = Severity::kInfo;
    Component component = Component::kDefault;
    LogId id{};
    std::string_view context;
    std::string_view message;
    const LogAttributes& attributes;
    bool isStartupWarning = false;
};

/// Without a line break at the end, and none inside. Attributes that are too long together are cut
/// to strings, the longest first, and named under `truncated`.
std::string renderLine(const Line& line);

/// "2026-11-20T21:05:00.123+01:00", or ending in "Z".
std::string isoTime(int64_t wallMillis, bool utc);

/// "NETWORK": the value of the field `c`.
std::string_view componentTag(Component component);
/// What the short form of log() writes for a room's name.
struct RoomLines {
    Component component;
    LogId id;
};
RoomLines linesOfRoom(std::string_view room);
/// The component whose verbosity applies when this one has none of its own.
Component parentOf(Component component);

}  // namespace freshet::telemetry
