// SPDX-License-Identifier: Apache-2.0
/// $dateAdd, $dateDiff, $dateTrunc and others; dates made from parts and from text.
#include "freshet/bson/json.h"
#include "freshet/query/expression/date_arguments.h"
#include "freshet/query/expression/time_text.h"

namespace freshet::query {
namespace {

using bson::Element;
using bson::Type;

/// The unit; false if the context failed.
bool unitOf(ExprContext& context, const std::string& name, const Value& value, TimeUnit* out) {
    if (!value.element().isString()) {
        context.fail(location(5439013),
                     name + " requires 'unit' to be a string, but got " + typeText(value));
        return false;
    }
    if (!parseUnit(value.element().stringValue(), out)) {
        context.fail(Reason::kFailedToParse,
                     name + " parameter 'unit' value cannot be recognized as a time unit: " +
                         std::string(value.element().stringValue()));
        return false;
    }
    return true;
}

bool weekdayOf(ExprContext& context, const std::string& name, const Value& value, int* out) {
    *out = 6;  // Sunday
    if (value.isMissing()) {
        return true;
    }
    if (!value.element().isString() || !parseWeekday(value.element().stringValue(), out)) {
        context.fail(value.element().isString() ? Reason::kFailedToParse : location(5439015),
                     name +
                         " parameter 'startOfWeek' value cannot be recognized as a day of a "
                         "week: " +
                         bson::toShellText(value.element()));
        return false;
    }
    return true;
}

/// {startDate, unit, amount, timezone}
template <bool subtract>
Value dateAdd(ExprContext& context, Arguments arguments) {
    const std::string name = subtract ? "$dateSubtract" : "$dateAdd";
    bool isNull = anyNullish(arguments.first(3));
    TimeUnit unit = TimeUnit::kDay;
    if (!isNull && !unitOf(context, name, arguments[1], &unit)) {
        return {};
    }
    const TimeZone* zone = zoneOf(context, arguments[3], &isNull);
    if (context.failed() || isNull) {
        return context.failed() ? Value() : Value::null();
    }
    int64_t millis = 0;
    int64_t amount = 0;
    if (!millisOf(context, arguments[0], &millis)) {
        return {};
    }
    const Element& number = arguments[2].element();
    if (!number.isNumber() || !number.toExactInt64(&amount)) {
        return context.fail(location(5166405), name + " expects integer amount of time units");
    }
    if (subtract && amount == INT64_MIN) {
        return context.fail(
            location(6045000),
            "invalid $dateSubtract 'amount' parameter value: " + std::to_string(amount) + " " +
                std::string(arguments[1].element().stringValue()));
    }
    int64_t result = 0;
    if (!addUnits(millis, unit, subtract ? -amount : amount, *zone, &result)) {
        return context.fail(location(5166406), name + " overflowed");
    }
    return Value::of(bson::Date{result});
}

/// The calendar that a function counts by.
struct Calendar {
    TimeUnit unit = TimeUnit::kDay;
    int startOfWeek = 6;
    const TimeZone* zone = nullptr;
};

/// False if the result is null or the context failed.
bool readCalendar(ExprContext& context,
                  const std::string& name,
                  const Value& unit,
                  Arguments zoneAndWeekday,
                  bool isNull,
                  Calendar* out) {
    if (!isNull && (!unitOf(context, name, unit, &out->unit) ||
                    !weekdayOf(context, name, zoneAndWeekday[1], &out->startOfWeek))) {
        return false;
    }
    out->zone = zoneOf(context, zoneAndWeekday[0], &isNull);
    return !context.failed() && !isNull;
}

/// {startDate, endDate, unit, timezone, startOfWeek}
Value dateDiff(ExprContext& context, Arguments arguments) {
    Calendar calendar;
    if (!readCalendar(context,
                      "$dateDiff",
                      arguments[2],
                      arguments.subspan(3),
                      anyNullish(arguments.first(3)),
                      &calendar)) {
        return context.failed() ? Value() : Value::null();
    }
    int64_t from = 0;
    int64_t to = 0;
    if (!millisOf(context, arguments[0], &from) || !millisOf(context, arguments[1], &to)) {
        return {};
    }
    return Value::of(countUnits(from, to, calendar.unit, *calendar.zone, calendar.startOfWeek));
}

/// {date, unit, binSize, timezone, startOfWeek}
Value dateTrunc(ExprContext& context, Arguments arguments) {
    const bool isNull = arguments[0].isNullish() || arguments[1].isNullish() ||
                        (!arguments[2].isMissing() && arguments[2].isNullish());
    Calendar calendar;
    if (!readCalendar(
            context, "$dateTrunc", arguments[1], arguments.subspan(3), isNull, &calendar)) {
        return context.failed() ? Value() : Value::null();
    }
    int64_t millis = 0;
    if (!millisOf(context, arguments[0], &millis)) {
        return {};
    }
    int64_t size = 1;
    if (!arguments[2].isMissing()) {
        const Element& number = arguments[2].element();
        if (!number.isNumber() || !number.toExactInt64(&size)) {
            return context.fail(location(5439017),
                                "$dateTrunc requires 'binSize' to be a 64-bit integer, but got "
                                "value '" +
                                    bson::toShellText(number) + "' of type " +
                                    typeText(arguments[2]));
        }
        if (size <= 0) {
            return context.fail(location(5439018),
                                "$dateTrunc requires 'binSize' to be greater than 0, but got "
                                "value " +
                                    std::to_string(size));
        }
    }
    if (size > 100'000'000'000) {
        return context.fail(location(5439026), "$dateTrunc: 'binSize' value is too large");
    }
    return Value::of(bson::Date{
        truncateToUnit(millis, calendar.unit, size, *calendar.zone, calendar.startOfWeek)});
}

/// An integral part of a date; `fallback` if it is missing. False if the context failed.
bool partOf(ExprContext& context,
            const char* name,
            const Value& value,
            int64_t fallback,
            int64_t most,
            int64_t* out) {
    *out = fallback;
    if (value.isMissing()) {
        return true;
    }
    if (!value.element().isNumber() || !value.element().toExactInt64(out)) {
        context.fail(location(40515),
                     "'" + std::string(name) + "' must evaluate to an integer, found " +
                         typeText(value) + " with value " + bson::toShellText(value.element()));
        return false;
    }
    if (*out > most || *out < -most - 1) {
        context.fail(location(31034),
                     "'" + std::string(name) + "' must evaluate to a value in the range [" +
                         std::to_string(-most - 1) + ", " + std::to_string(most) + "]; value " +
                         std::to_string(*out) + " is not in range");
        return false;
    }
    return true;
}

constexpr std::string_view kParts[] = {"year",
                                       "month",
                                       "day",
                                       "isoWeekYear",
                                       "isoWeek",
                                       "isoDayOfWeek",
                                       "hour",
                                       "minute",
                                       "second",
                                       "millisecond"};

Value dateFromParts(ExprContext& context, Arguments arguments) {
    const auto isGiven = [&](size_t part) { return !arguments[part].isMissing(); };
    const bool isIso = isGiven(3);
    if (!isIso && !isGiven(0)) {
        return context.fail(location(40516),
                            "$dateFromParts requires either 'year' or 'isoWeekYear' to be present");
    }
    if (isGiven(0) && (isIso || isGiven(4) || isGiven(5))) {
        return context.fail(location(40489),
                            "$dateFromParts does not allow mixing natural dates with ISO dates");
    }
    if (isIso && (isGiven(1) || isGiven(2))) {
        return context.fail(location(40525),
                            "$dateFromParts does not allow mixing ISO dates with natural dates");
    }
    int64_t parts[10];
    bool isNull = false;
    for (size_t i = 0; i < 10; ++i) {
        if (!arguments[i].isMissing() && arguments[i].isNullish()) {
            return Value::null();
        }
        const bool isLong = i >= 8;
        const int64_t fallback = i >= 6 ? 0 : 1;
        if (!partOf(context,
                    kParts[i].data(),
                    arguments[i],
                    fallback,
                    isLong ? int64_t{1} << 40 : 32767,
                    &parts[i])) {
            return {};
        }
    }
    const int64_t year = parts[isIso ? 3 : 0];
    if (year < 1 || year > 9999) {
        return context.fail(location(isIso ? 31095 : 40523),
                            "'" + std::string(isIso ? "isoWeekYear" : "year") +
                                "' must evaluate to an integer in the range 1 to 9999, found " +
                                std::to_string(year));
    }
    const TimeZone* zone = zoneOf(context, arguments[10], &isNull);
    if (context.failed() || isNull) {
        return context.failed() ? Value() : Value::null();
    }
    const int64_t days = isIso ? isoYearStart(year) + 7 * (parts[4] - 1) + parts[5] - 1
                               : daysOf(year, parts[1], parts[2]);
    const int64_t seconds = ((days * 24 + parts[6]) * 60 + parts[7]) * 60 + parts[8];
    return Value::of(bson::Date{zone->toUtc(seconds * 1000 + parts[9])});
}

/// {date, timezone, iso8601}
Value dateToParts(ExprContext& context, Arguments arguments) {
    bool isNull =
        arguments[0].isNullish() || (!arguments[2].isMissing() && arguments[2].isNullish());
    const TimeZone* zone = zoneOf(context, arguments[1], &isNull);
    if (context.failed() || isNull) {
        return context.failed() ? Value() : Value::null();
    }
    if (!arguments[2].isMissing() && arguments[2].type() != Type::kBool) {
        return context.fail(location(40521),
                            "iso8601 must evaluate to a bool, found " + typeText(arguments[2]));
    }
    int64_t millis = 0;
    if (!millisOf(context, arguments[0], &millis)) {
        return {};
    }
    const CalendarTime time = calendarOf(zone->toLocal(millis));
    bson::Builder builder;
    if (!arguments[2].isMissing() && arguments[2].element().boolValue()) {
        builder.add("isoWeekYear", static_cast<int32_t>(time.isoYear));
        builder.add("isoWeek", time.isoWeek).add("isoDayOfWeek", time.isoDayOfWeek);
    } else {
        builder.add("year", static_cast<int32_t>(time.year));
        builder.add("month", time.month).add("day", time.day);
    }
    builder.add("hour", time.hour).add("minute", time.minute).add("second", time.second);
    builder.add("millisecond", time.millisecond);
    return Value::ofDocument(builder.finish());
}

/// {dateString, format, timezone, onError, onNull}
Value dateFromString(ExprContext& context, Arguments arguments) {
    const Value& text = arguments[0];
    bool isNull = false;
    const TimeZone* zone = zoneOf(context, arguments[2], &isNull);
    if (context.failed()) {
        return {};
    }
    if (text.isNullish()) {
        return arguments[4].isMissing() ? Value::null() : arguments[4];
    }
    isNull |= !arguments[1].isMissing() && arguments[1].isNullish();
    if (isNull) {
        return Value::null();
    }
    if (!arguments[1].isMissing() && !arguments[1].element().isString()) {
        return context.fail(
            location(40684),
            "$dateFromString requires that 'format' be a string, found: " + typeText(arguments[1]));
    }
    if (!text.element().isString()) {
        return arguments[3].isMissing()
                   ? context.fail(
                         Reason::kConversionFailure,
                         "$dateFromString requires that 'dateString' be a string, found: " +
                             typeText(text) + " with value " + bson::toShellText(text.element()))
                   : arguments[3];
    }
    bool hasZone = false;
    const std::string_view value = text.element().stringValue();
    auto parsed = arguments[1].isMissing()
                      ? parseDate(value, &hasZone)
                      : parseDateAs(value, arguments[1].element().stringValue(), &hasZone);
    if (parsed.isOk() && hasZone && !arguments[2].isMissing()) {
        parsed = invalid(Reason::kConversionFailure,
                         "you cannot pass in a date/time string with time zone information ('" +
                             std::string(value) + "') together with a timezone argument");
    }
    if (!parsed.isOk()) {
        const bool isCaught =
            !arguments[3].isMissing() && parsed.status().reason() == Reason::kConversionFailure;
        return isCaught
                   ? arguments[3]
                   : context.fail(parsed.status().reason(), std::string(parsed.status().text()));
    }
    return Value::of(bson::Date{hasZone ? *parsed : zone->toUtc(*parsed)});
}

}  // namespace

std::span<const NamedFunctionSpec> dateMathFunctions() {
    static const NamedFunctionSpec kNamed[] = {
        {"$dateAdd", {"startDate", "unit", "amount", "timezone"}, 3, dateAdd<false>},
        {"$dateSubtract", {"startDate", "unit", "amount", "timezone"}, 3, dateAdd<true>},
        {"$dateDiff", {"startDate", "endDate", "unit", "timezone", "startOfWeek"}, 3, dateDiff},
        {"$dateTrunc", {"date", "unit", "binSize", "timezone", "startOfWeek"}, 2, dateTrunc},
        {"$dateFromParts",
         {"year",
          "month",
          "day",
          "isoWeekYear",
          "isoWeek",
          "isoDayOfWeek",
          "hour",
          "minute",
          "second",
          "millisecond",
          "timezone"},
         0,
         dateFromParts},
        {"$dateToParts", {"date", "timezone", "iso8601"}, 1, dateToParts},
        {"$dateFromString",
         {"dateString", "format", "timezone", "onError", "onNull"},
         1,
         dateFromString},
    };
    return kNamed;
}

}  // namespace freshet::query
