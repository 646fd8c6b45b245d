// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/expression/time_text.h"

#include <cstdio>

namespace freshet::query {
namespace {

constexpr int64_t kDayMillis = 86'400'000;

int64_t floorDivide(int64_t a, int64_t b) {
    return a / b - (a % b < 0 ? 1 : 0);
}

/// Days since 1970-01-01 of a date of the proleptic Gregorian calendar.
int64_t daysOf(int64_t year, int month, int day) {
    const int64_t y = month <= 2 ? year - 1 : year;
    const int64_t era = floorDivide(y, 400);
    const int64_t yearOfEra = y - era * 400;
    const int64_t dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719468;
}

void setDate(int64_t days, CalendarTime* out) {
    const int64_t shifted = days + 719468;
    const int64_t era = floorDivide(shifted, 146097);
    const int64_t dayOfEra = shifted - era * 146097;
    const int64_t yearOfEra =
        (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146096) / 365;
    const int64_t dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100);
    const int64_t monthFromMarch = (5 * dayOfYear + 2) / 153;
    out->day = static_cast<int>(dayOfYear - (153 * monthFromMarch + 2) / 5 + 1);
    out->month = static_cast<int>(monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9);
    out->year = yearOfEra + era * 400 + (out->month <= 2 ? 1 : 0);
}

/// Days since 1970-01-01 of the Monday of ISO week 1.
int64_t isoYearStart(int64_t year) {
    const int64_t fourth = daysOf(year, 1, 4);
    return fourth - (fourth + 3 - floorDivide(fourth + 3, 7) * 7);
}

void setWeek(int64_t days, CalendarTime* out) {
    const int64_t weekday = days + 4 - floorDivide(days + 4, 7) * 7;  // 0 is Sunday
    out->dayOfWeek = static_cast<int>(weekday) + 1;
    out->isoDayOfWeek = weekday == 0 ? 7 : static_cast<int>(weekday);
    out->dayOfYear = static_cast<int>(days - daysOf(out->year, 1, 1)) + 1;
    out->week = static_cast<int>((out->dayOfYear - 1 + 7 - weekday) / 7);
    out->isoYear = out->year;
    if (days >= isoYearStart(out->year + 1)) {
        ++out->isoYear;
    } else if (days < isoYearStart(out->year)) {
        --out->isoYear;
    }
    out->isoWeek = static_cast<int>((days - isoYearStart(out->isoYear)) / 7) + 1;
}

std::string padded(int64_t value, int width) {
    char text[32];
    std::snprintf(text, sizeof(text), "%0*lld", width, static_cast<long long>(value));
    return text;
}

Status unparsable(std::string_view text) {
    return invalid(Reason::kConversionFailure,
                   "Error parsing date string '" + std::string(text) + "'");
}

/// Reads a fixed number of digits off the front.
bool takeDigits(std::string_view* text, size_t count, int* out) {
    if (text->size() < count) {
        return false;
    }
    *out = 0;
    for (char c : text->substr(0, count)) {
        if (c < '0' || c > '9') {
            return false;
        }
        *out = *out * 10 + (c - '0');
    }
    text->remove_prefix(count);
    return true;
}

bool take(std::string_view* text, char c) {
    if (!text->starts_with(c)) {
        return false;
    }
    text->remove_prefix(1);
    return true;
}

bool takeFraction(std::string_view* text, int* millis) {
    if (!take(text, '.')) {
        return true;
    }
    int weight = 100;
    size_t digits = 0;
    while (!text->empty() && text->front() >= '0' && text->front() <= '9') {
        *millis += (text->front() - '0') * weight;
        weight /= 10;
        text->remove_prefix(1);
        ++digits;
    }
    return digits > 0;
}

bool takeOffset(std::string_view* text, int* minutes) {
    if (text->empty() || take(text, 'Z')) {
        return true;
    }
    const bool negative = text->front() == '-';
    if (!take(text, '-') && !take(text, '+')) {
        return false;
    }
    int hours = 0;
    int rest = 0;
    if (!takeDigits(text, 2, &hours)) {
        return false;
    }
    take(text, ':');
    if (!text->empty() && !takeDigits(text, 2, &rest)) {
        return false;
    }
    *minutes = (hours * 60 + rest) * (negative ? -1 : 1);
    return true;
}

}  // namespace

CalendarTime calendarOf(int64_t millis) {
    CalendarTime result;
    const int64_t days = floorDivide(millis, kDayMillis);
    int64_t rest = millis - days * kDayMillis;
    setDate(days, &result);
    setWeek(days, &result);
    result.millisecond = static_cast<int>(rest % 1000);
    rest /= 1000;
    result.second = static_cast<int>(rest % 60);
    rest /= 60;
    result.minute = static_cast<int>(rest % 60);
    result.hour = static_cast<int>(rest / 60);
    return result;
}

std::string isoDateText(int64_t millis) {
    return *formatDate(millis, "%Y-%m-%dT%H:%M:%S.%LZ");
}

StatusOr<std::string> formatDate(int64_t millis, std::string_view format) {
    const CalendarTime time = calendarOf(millis);
    std::string out;
    for (size_t i = 0; i < format.size(); ++i) {
        if (format[i] != '%') {
            out += format[i];
            continue;
        }
        const char what = i + 1 < format.size() ? format[i + 1] : '\0';
        ++i;
        switch (what) {
            case 'Y':
                out += padded(time.year, 4);
                break;
            case 'm':
                out += padded(time.month, 2);
                break;
            case 'd':
                out += padded(time.day, 2);
                break;
            case 'H':
                out += padded(time.hour, 2);
                break;
            case 'M':
                out += padded(time.minute, 2);
                break;
            case 'S':
                out += padded(time.second, 2);
                break;
            case 'L':
                out += padded(time.millisecond, 3);
                break;
            case 'j':
                out += padded(time.dayOfYear, 3);
                break;
            case 'w':
                out += padded(time.dayOfWeek, 1);
                break;
            case 'u':
                out += padded(time.isoDayOfWeek, 1);
                break;
            case 'U':
                out += padded(time.week, 2);
                break;
            case 'V':
                out += padded(time.isoWeek, 2);
                break;
            case 'G':
                out += padded(time.isoYear, 4);
                break;
            case 'z':
                out += "+0000";
                break;
            case 'Z':
                out += "0";
                break;
            case '%':
                out += '%';
                break;
            case '\0':
                return badValue("Unmatched '%' at end of format string");
            default:
                return badValue(std::string("Invalid format character '%") + what +
                                "' in format string");
        }
    }
    return out;
}

StatusOr<int64_t> parseDate(std::string_view text) {
    std::string_view rest = text;
    int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, millis = 0, offset = 0;
    if (!takeDigits(&rest, 4, &year) || !take(&rest, '-') || !takeDigits(&rest, 2, &month) ||
        !take(&rest, '-') || !takeDigits(&rest, 2, &day)) {
        return unparsable(text);
    }
    if (take(&rest, 'T') || take(&rest, ' ')) {
        if (!takeDigits(&rest, 2, &hour) || !take(&rest, ':') || !takeDigits(&rest, 2, &minute)) {
            return unparsable(text);
        }
        if (take(&rest, ':') && (!takeDigits(&rest, 2, &second) || !takeFraction(&rest, &millis))) {
            return unparsable(text);
        }
    }
    const bool inRange = month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour < 24 &&
                         minute < 60 && second < 60;
    if (!takeOffset(&rest, &offset) || !rest.empty() || !inRange) {
        return unparsable(text);
    }
    const int64_t minutes = (daysOf(year, month, day) * 24 + hour) * 60 + minute - offset;
    return (minutes * 60 + second) * 1000 + millis;
}

}  // namespace freshet::query
