// SPDX-License-Identifier: Apache-2.0
/// Parts of dates, and dates as text.
#include "freshet/query/expression/date_arguments.h"
#include "freshet/query/expression/time_text.h"

namespace freshet::query {
namespace {

using bson::Element;
using bson::Type;

/// One part of a date, given directly or as {date: ..., timezone: ...}.
template <typename Part>
Value datePart(ExprContext& context, Arguments arguments, Part part) {
    Value date = arguments[0];
    Value zoneName;
    if (date.element().isObject()) {
        const bson::Document named = date.element().document();
        zoneName = date.part(named.find("timezone"));
        date = date.part(named.find("date"));
    }
    bool isNull = date.isNullish();
    const TimeZone* zone = zoneOf(context, zoneName, &isNull);
    int64_t millis = 0;
    if (context.failed() || isNull) {
        return context.failed() ? Value() : Value::null();
    }
    if (!millisOf(context, date, &millis)) {
        return {};
    }
    return Value::ofInteger(part(calendarOf(zone->toLocal(millis))));
}

#define FRESHET_DATE_PART(function, member)                                               \
    Value function(ExprContext& context, Arguments arguments) {                           \
        return datePart(                                                                  \
            context, arguments, [](const CalendarTime& t) { return int64_t{t.member}; }); \
    }

FRESHET_DATE_PART(year, year)
FRESHET_DATE_PART(month, month)
FRESHET_DATE_PART(dayOfMonth, day)
FRESHET_DATE_PART(hour, hour)
FRESHET_DATE_PART(minute, minute)
FRESHET_DATE_PART(second, second)
FRESHET_DATE_PART(millisecond, millisecond)
FRESHET_DATE_PART(dayOfWeek, dayOfWeek)
FRESHET_DATE_PART(dayOfYear, dayOfYear)
FRESHET_DATE_PART(week, week)
FRESHET_DATE_PART(isoWeek, isoWeek)
FRESHET_DATE_PART(isoDayOfWeek, isoDayOfWeek)

#undef FRESHET_DATE_PART

Value isoWeekYear(ExprContext& context, Arguments arguments) {
    const Value year =
        datePart(context, arguments, [](const CalendarTime& t) { return t.isoYear; });
    return year.isNullish() ? year : Value::of(year.element().toInt64());
}

Value dateToString(ExprContext& context, Arguments arguments) {
    const Value& date = arguments[0];
    bool isNull = false;
    const TimeZone* zone = zoneOf(context, arguments[2], &isNull);
    if (context.failed()) {
        return {};
    }
    if (date.isNullish()) {
        return arguments[3].isMissing() ? Value::null() : arguments[3];
    }
    isNull |= !arguments[1].isMissing() && arguments[1].isNullish();
    int64_t millis = 0;
    if (isNull || !millisOf(context, date, &millis)) {
        return context.failed() ? Value() : Value::null();
    }
    std::string_view format = zone->isUtc() ? "%Y-%m-%dT%H:%M:%S.%LZ" : "%Y-%m-%dT%H:%M:%S.%L";
    if (!arguments[1].isMissing()) {
        if (!arguments[1].element().isString()) {
            return context.fail(location(18533),
                                "$dateToString requires that 'format' be a string, found: " +
                                    typeText(arguments[1]));
        }
        format = arguments[1].element().stringValue();
    }
    const int64_t offset = zone->offsetAt(millis);
    const int64_t year = calendarOf(millis + offset).year;
    if (year < 0 || year > 9999) {
        return context.fail(location(18537),
                            "$dateToString is only defined on year 0-9999, tried to use year " +
                                std::to_string(year));
    }
    auto text = formatDate(millis, format, offset);
    return text.isOk() ? Value::of(*text)
                       : context.fail(text.status().reason(), std::string(text.status().text()));
}

constexpr FunctionSpec kDates[] = {
    {"$year", 1, 1, year},
    {"$month", 1, 1, month},
    {"$dayOfMonth", 1, 1, dayOfMonth},
    {"$hour", 1, 1, hour},
    {"$minute", 1, 1, minute},
    {"$second", 1, 1, second},
    {"$millisecond", 1, 1, millisecond},
    {"$dayOfWeek", 1, 1, dayOfWeek},
    {"$dayOfYear", 1, 1, dayOfYear},
    {"$week", 1, 1, week},
    {"$isoWeek", 1, 1, isoWeek},
    {"$isoDayOfWeek", 1, 1, isoDayOfWeek},
    {"$isoWeekYear", 1, 1, isoWeekYear},
};

}  // namespace

std::span<const FunctionSpec> dateFunctions() {
    return kDates;
}

std::span<const NamedFunctionSpec> namedDateFunctions() {
    static const NamedFunctionSpec kNamed[] = {
        {"$dateToString", {"date", "format", "timezone", "onNull"}, 1, dateToString},
    };
    return kNamed;
}

}  // namespace freshet::query
