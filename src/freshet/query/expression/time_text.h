// SPDX-License-Identifier: Apache-2.0
/// Dates as parts and as text, in UTC. Pure; any thread.
#pragma once

#include "freshet/base/status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace freshet::query {

struct CalendarTime {
    int64_t year = 1970;
    int month = 1;  // 1..12
    int day = 1;
    int hour = 0;
    int minute = 0;
    int second = 0;
    int millisecond = 0;
    int dayOfWeek = 1;  // 1 is Sunday
    int dayOfYear = 1;
    int week = 0;  // of the year; the days before the first Sunday are week 0
    int isoWeek = 1;
    int64_t isoYear = 1970;
    int isoDayOfWeek = 1;  // 1 is Monday
};

CalendarTime calendarOf(int64_t millis);
/// 2020-01-31T12:00:00.000Z
std::string isoDateText(int64_t millis);
/// With MongoDB's %Y %m %d %H %M %S %L %j %u %w %U %V %G %z %Z %%.
StatusOr<std::string> formatDate(int64_t millis, std::string_view format);
/// Reads 2020-01-31, 2020-01-31T12:00:00, with .123 and Z or an offset like +02:00.
StatusOr<int64_t> parseDate(std::string_view text);

}  // namespace freshet::query
