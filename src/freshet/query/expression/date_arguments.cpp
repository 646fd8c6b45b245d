// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/expression/date_arguments.h"

#include "freshet/query/expression/time_text.h"

#include <algorithm>

namespace freshet::query {
namespace {

using bson::Element;
using bson::Type;

constexpr std::string_view kUnits[] = {
    "year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond"};
constexpr std::string_view kWeekdays[] = {
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"};
constexpr int64_t kUnitsMax = int64_t{1} << 53;  // far beyond the range of dates

int64_t localDay(int64_t millis, const TimeZone& zone) {
    return floorDivide(zone.toLocal(millis), kDayMillis);
}

int64_t monthsOf(const CalendarTime& time) {
    return time.year * 12 + time.month - 1;
}

int monthsIn(TimeUnit unit) {
    return unit == TimeUnit::kYear ? 12 : unit == TimeUnit::kQuarter ? 3 : 1;
}

/// Moves by months; if that month is too short, the day is its last.
int64_t addMonths(int64_t local, int64_t months) {
    const CalendarTime time = calendarOf(local);
    const int64_t total = monthsOf(time) + months;
    const int64_t year = floorDivide(total, 12);
    const int month = static_cast<int>(total - year * 12) + 1;
    const int day = std::min(time.day, daysInMonth(year, month));
    const int64_t rest = local - floorDivide(local, kDayMillis) * kDayMillis;
    return daysOf(year, month, day) * kDayMillis + rest;
}

}  // namespace

bool parseUnit(std::string_view text, TimeUnit* out) {
    const auto at = std::find(std::begin(kUnits), std::end(kUnits), text);
    if (at == std::end(kUnits)) {
        return false;
    }
    *out = static_cast<TimeUnit>(at - std::begin(kUnits));
    return true;
}

int64_t unitMillis(TimeUnit unit) {
    switch (unit) {
        case TimeUnit::kWeek:
            return 7 * kDayMillis;
        case TimeUnit::kDay:
            return kDayMillis;
        case TimeUnit::kHour:
            return kHourMillis;
        case TimeUnit::kMinute:
            return 60'000;
        case TimeUnit::kSecond:
            return 1000;
        case TimeUnit::kMillisecond:
            return 1;
        default:
            return 0;
    }
}

bool parseWeekday(std::string_view text, int* out) {
    std::string lower(text);
    for (char& c : lower) {
        c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    for (int i = 0; i < 7; ++i) {
        if (lower == kWeekdays[i] || lower == kWeekdays[i].substr(0, 3)) {
            *out = i;
            return true;
        }
    }
    return false;
}

bool millisOf(ExprContext& context, const Value& value, int64_t* out) {
    const Element& element = value.element();
    switch (element.type()) {
        case Type::kDate:
            *out = element.dateMillis();
            return true;
        case Type::kTimestamp:
            *out = static_cast<int64_t>(element.timestampValue() >> 32) * 1000;
            return true;
        case Type::kObjectId:
            *out = int64_t{loadBe32(element.objectIdBytes().data())} * 1000;
            return true;
        default:
            context.fail(location(16006),
                         "can't convert from BSON type " + typeText(value) + " to Date");
            return false;
    }
}

const TimeZone* zoneOf(ExprContext& context, const Value& zone, bool* isNull) {
    if (zone.isMissing()) {
        return &TimeZone::utc();
    }
    if (zone.isNullish()) {
        *isNull = true;
        return nullptr;
    }
    if (!zone.element().isString()) {
        context.fail(location(40517),
                     "timezone must evaluate to a string, found " + typeText(zone));
        return nullptr;
    }
    auto found = TimeZone::find(zone.element().stringValue());
    if (!found.isOk()) {
        context.fail(found.status().reason(), std::string(found.status().text()));
        return nullptr;
    }
    return *found;
}

bool addUnits(int64_t millis, TimeUnit unit, int64_t amount, const TimeZone& zone, int64_t* out) {
    if (amount > kUnitsMax || amount < -kUnitsMax) {
        return false;
    }
    if (unit < TimeUnit::kWeek) {
        constexpr int64_t kMonthsMax = 12LL * 300'000'000;  // more than the range of dates
        const int64_t months = amount * monthsIn(unit);
        if (months > kMonthsMax || months < -kMonthsMax) {
            return false;
        }
        *out = zone.toUtc(addMonths(zone.toLocal(millis), months));
        return true;
    }
    int64_t distance = 0;
    if (__builtin_mul_overflow(amount, unitMillis(unit), &distance)) {
        return false;
    }
    const bool isWholeDays = unit <= TimeUnit::kDay;
    const int64_t start = isWholeDays ? zone.toLocal(millis) : millis;
    if (__builtin_add_overflow(start, distance, out)) {
        return false;
    }
    *out = isWholeDays ? zone.toUtc(*out) : *out;
    return true;
}

int64_t countUnits(int64_t from, int64_t to, TimeUnit unit, const TimeZone& zone, int startOfWeek) {
    if (unit < TimeUnit::kWeek) {
        const int months = monthsIn(unit);
        return floorDivide(monthsOf(calendarOf(zone.toLocal(to))), months) -
               floorDivide(monthsOf(calendarOf(zone.toLocal(from))), months);
    }
    if (unit == TimeUnit::kWeek) {
        // Day 0 was a Thursday, three days after a Monday.
        const int64_t shift = 3 - startOfWeek;
        return floorDivide(localDay(to, zone) + shift, 7) -
               floorDivide(localDay(from, zone) + shift, 7);
    }
    if (unit == TimeUnit::kDay) {
        return localDay(to, zone) - localDay(from, zone);
    }
    const int64_t length = unitMillis(unit);
    const int64_t shift = zone.offsetAt(from) % length;  // zones may differ by half an hour
    return floorDivide(to + shift, length) - floorDivide(from + shift, length);
}

int64_t truncateToUnit(
    int64_t millis, TimeUnit unit, int64_t size, const TimeZone& zone, int startOfWeek) {
    if (unit < TimeUnit::kWeek) {
        const int64_t months = size * monthsIn(unit);
        const int64_t since = monthsOf(calendarOf(zone.toLocal(millis))) - 2000 * 12;
        return zone.toUtc(daysOf(2000, 1 + floorDivide(since, months) * months, 1) * kDayMillis);
    }
    const int64_t start = daysOf(2000, 1, 1);  // a Saturday
    if (unit <= TimeUnit::kDay) {
        const int64_t weekday = 5;
        const int64_t first =
            unit == TimeUnit::kWeek ? start + (startOfWeek - weekday + 7) % 7 : start;
        const int64_t days = size * (unit == TimeUnit::kWeek ? 7 : 1);
        return zone.toUtc((first + floorDivide(localDay(millis, zone) - first, days) * days) *
                          kDayMillis);
    }
    const int64_t length = unitMillis(unit) * size;
    const int64_t reference = zone.toUtc(start * kDayMillis);
    return reference + floorDivide(millis - reference, length) * length;
}

}  // namespace freshet::query
