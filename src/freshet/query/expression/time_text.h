// SPDX-License-Identifier: Apache-2.0
/// Dates as parts and as text. Pure; any thread.
#pragma once

#include "freshet/base/status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace freshet::query {

inline constexpr int64_t kHourMillis = 3'600'000;
inline constexpr int64_t kDayMillis = 24 * kHourMillis;

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

/// `millis` of local time: the zone's offset is already added.
CalendarTime calendarOf(int64_t millis);
int64_t floorDivide(int64_t a, int64_t b);
/// Days since 1970-01-01 of a date of the proleptic Gregorian calendar; a month or day out of range
/// carries over.
int64_t daysOf(int64_t year, int64_t month, int64_t day);
/// Days since 1970-01-01 of the Monday of ISO week 1.
int64_t isoYearStart(int64_t year);
int daysInMonth(int64_t year, int month);

/// 2020-01-31T12:00:00.000Z
std::string isoDateText(int64_t millis);
/// With MongoDB's %Y %m %d %H %M %S %L %j %u %w %U %V %G %b %B %z %Z %%. `offset`: the zone's, in
/// milliseconds; `millis`: UTC.
StatusOr<std::string> formatDate(int64_t millis, std::string_view format, int64_t offset = 0);
/// Reads a text in such a format. *hasZone: the text names an offset itself, and the result is UTC;
/// otherwise it is local time.
StatusOr<int64_t> parseDateAs(std::string_view text, std::string_view format, bool* hasZone);
/// Reads 2020-01-31, 2020-01-31T12:00:00, optionally with .123 and with Z or an offset like +02:00.
StatusOr<int64_t> parseDate(std::string_view text);
/// The same; *hasZone as above.
StatusOr<int64_t> parseDate(std::string_view text, bool* hasZone);

}  // namespace freshet::query
