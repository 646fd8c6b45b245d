// SPDX-License-Identifier: Apache-2.0
/// Operators on dates. Time zones: UTC only; another one is refused, not ignored.
#include "freshet/query/expression/operators.h"
#include "freshet/query/expression/time_text.h"

namespace freshet::query {
namespace {

using bson::Element;
using bson::Type;

bool checkTimezone(ExprContext& context, const Element& zone) {
    if (zone.isMissing() || zone.isNull()) {
        return true;
    }
    if (zone.isString()) {
        for (const char* utc : {"UTC", "GMT", "Etc/UTC", "+00:00", "+0000", "Z"}) {
            if (zone.stringValue() == utc) {
                return true;
            }
        }
    }
    context.fail(Reason::kBadValue,
                 "unrecognized time zone identifier: this server knows UTC only");
    return false;
}

/// Milliseconds of a date, a timestamp or an ObjectId's time.
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
            context.fail(Reason::kTypeMismatch,
                         "can't convert from BSON type " + typeText(value) + " to Date");
            return false;
    }
}

/// One part of a date, given as it is or as {date: ..., timezone: ...}.
template <typename Part>
Value datePart(ExprContext& context, Arguments arguments, Part part) {
    Value date = arguments[0];
    if (date.element().isObject()) {
        const bson::Document named = date.element().document();
        if (!checkTimezone(context, named.find("timezone"))) {
            return {};
        }
        date = date.part(named.find("date"));
    }
    int64_t millis = 0;
    if (date.isNullish()) {
        return Value::null();
    }
    if (!millisOf(context, date, &millis)) {
        return {};
    }
    return Value::ofInteger(part(calendarOf(millis)));
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
    if (!checkTimezone(context, arguments[2].element())) {
        return {};
    }
    if (date.isNullish()) {
        return arguments[3].isMissing() ? Value::null() : arguments[3];
    }
    int64_t millis = 0;
    if (!millisOf(context, date, &millis)) {
        return {};
    }
    std::string_view format = "%Y-%m-%dT%H:%M:%S.%LZ";
    if (!arguments[1].isMissing()) {
        if (arguments[1].isNullish()) {
            return Value::null();
        }
        if (!arguments[1].element().isString()) {
            return context.fail(Reason::kTypeMismatch,
                                "$dateToString requires that 'format' be a string, found: " +
                                    typeText(arguments[1]));
        }
        format = arguments[1].element().stringValue();
    }
    auto text = formatDate(millis, format);
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
