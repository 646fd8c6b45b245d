// SPDX-License-Identifier: Apache-2.0
/// What the operators on dates share: reading dates, zones and units from their arguments.
#pragma once

#include "freshet/query/expression/operators.h"
#include "freshet/query/expression/time_text.h"
#include "freshet/query/expression/time_zone.h"

namespace freshet::query {

enum class TimeUnit : uint8_t {
    kYear,
    kQuarter,
    kMonth,
    kWeek,
    kDay,
    kHour,
    kMinute,
    kSecond,
    kMillisecond
};

/// "day", "week", ...
bool parseUnit(std::string_view text, TimeUnit* out);
/// Milliseconds of the units that have a fixed length, kDay and kWeek included; 0 for the others.
int64_t unitMillis(TimeUnit unit);
/// 0 for "mon"/"monday" up to 6 for Sunday; false for other texts. Any case.
bool parseWeekday(std::string_view text, int* out);

/// Milliseconds of a date, a timestamp or an ObjectId's time; false if the context failed.
bool millisOf(ExprContext& context, const Value& value, int64_t* out);
/// Null if the context failed or the zone is null; *isNull distinguishes them. Missing: UTC.
const TimeZone* zoneOf(ExprContext& context, const Value& zone, bool* isNull);

/// `amount` units later, by the calendar of the zone. False when the result is out of range for
/// dates.
bool addUnits(int64_t millis, TimeUnit unit, int64_t amount, const TimeZone& zone, int64_t* out);
/// How many boundaries of units are between the two.
int64_t countUnits(int64_t from, int64_t to, TimeUnit unit, const TimeZone& zone, int startOfWeek);
/// The start of the bin of `size` units that contains `millis`; bins are counted from the year
/// 2000.
int64_t truncateToUnit(
    int64_t millis, TimeUnit unit, int64_t size, const TimeZone& zone, int startOfWeek);

}  // namespace freshet::query
