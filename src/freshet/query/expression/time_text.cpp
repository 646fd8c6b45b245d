// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/expression/time_text.h"

#include <cstdio>

namespace freshet::query {
namespace {

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

/// Reads a fixed number of digits from the front.
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

constexpr std::string_view kMonths[] = {"January",
                                        "February",
                                        "March",
                                        "April",
                                        "May",
                                        "June",
                                        "July",
                                        "August",
                                        "September",
                                        "October",
                                        "November",
                                        "December"};

std::string offsetText(int64_t offset) {
    const int64_t minutes = (offset < 0 ? -offset : offset) / 60'000;
    return (offset < 0 ? "-" : "+") + padded(minutes / 60, 2) + padded(minutes % 60, 2);
}

/// The text of one format character; false if it is unknown.
bool formatPart(const CalendarTime& time, int64_t offset, char what, std::string* out) {
    const struct {
        char what;
        int64_t value;
        int width;
    } numbers[] = {
        {'Y', time.year, 4},
        {'m', time.month, 2},
        {'d', time.day, 2},
        {'H', time.hour, 2},
        {'M', time.minute, 2},
        {'S', time.second, 2},
        {'L', time.millisecond, 3},
        {'j', time.dayOfYear, 3},
        {'w', time.dayOfWeek, 1},
        {'u', time.isoDayOfWeek, 1},
        {'U', time.week, 2},
        {'V', time.isoWeek, 2},
        {'G', time.isoYear, 4},
    };
    for (const auto& number : numbers) {
        if (number.what == what) {
            *out += padded(number.value, number.width);
            return true;
        }
    }
    const std::string_view month = kMonths[time.month - 1];
    switch (what) {
        case 'b':
            *out += month.substr(0, 3);
            return true;
        case 'B':
            *out += month;
            return true;
        case 'z':
            *out += offsetText(offset);
            return true;
        case 'Z':
            *out += std::to_string(offset / 60'000);
            return true;
        case '%':
            *out += '%';
            return true;
        default:
            return false;
    }
}

/// A date while it is being read from a text.
struct ParsedDate {
    int year = 1970;
    int month = 1;
    int day = 1;
    int hour = 0;
    int minute = 0;
    int second = 0;
    int millisecond = 0;
    int dayOfYear = 0;  // 0: not given
    int isoYear = 0;
    int isoWeek = 0;
    int isoDayOfWeek = 1;
    int offsetMinutes = 0;
    bool hasZone = false;

    bool takePart(char what, std::string_view* rest, bool* known) {
        const struct {
            char what;
            size_t digits;
            int* out;
        } numbers[] = {
            {'Y', 4, &year},
            {'m', 2, &month},
            {'d', 2, &day},
            {'H', 2, &hour},
            {'M', 2, &minute},
            {'S', 2, &second},
            {'L', 3, &millisecond},
            {'j', 3, &dayOfYear},
            {'G', 4, &isoYear},
            {'V', 2, &isoWeek},
            {'u', 1, &isoDayOfWeek},
        };
        for (const auto& number : numbers) {
            if (number.what == what) {
                return takeDigits(rest, number.digits, number.out);
            }
        }
        if (what == 'b' || what == 'B') {
            return takeMonth(what == 'B', rest);
        }
        if (what == 'z' || what == 'Z') {
            hasZone = true;
            return what == 'z' ? takeOffset(rest, &offsetMinutes) : takeMinutes(rest);
        }
        *known = what == '%';
        return *known && take(rest, '%');
    }

    bool isInRange() const {
        return month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour < 24 && minute < 60 &&
               second < 60 && dayOfYear <= 366 && isoWeek <= 53 && isoDayOfWeek >= 1 &&
               isoDayOfWeek <= 7;
    }

    int64_t millis() const {
        int64_t days = daysOf(year, month, day);
        if (isoWeek > 0 || isoYear > 0) {
            days = isoYearStart(isoYear > 0 ? isoYear : year) +
                   7 * ((isoWeek > 0 ? isoWeek : 1) - 1) + isoDayOfWeek - 1;
        } else if (dayOfYear > 0) {
            days = daysOf(year, 1, dayOfYear);
        }
        const int64_t minutes = (days * 24 + hour) * 60 + minute - offsetMinutes;
        return (minutes * 60 + second) * 1000 + millisecond;
    }

private:
    bool takeMonth(bool whole, std::string_view* rest) {
        for (int i = 0; i < 12; ++i) {
            const std::string_view name = whole ? kMonths[i] : kMonths[i].substr(0, 3);
            if (rest->starts_with(name)) {
                rest->remove_prefix(name.size());
                month = i + 1;
                return true;
            }
        }
        return false;
    }

    /// %Z: minutes, with a sign.
    bool takeMinutes(std::string_view* rest) {
        const bool negative = take(rest, '-');
        if (!negative) {
            take(rest, '+');
        }
        size_t digits = 0;
        while (digits < 4 && digits < rest->size() && (*rest)[digits] >= '0' &&
               (*rest)[digits] <= '9') {
            offsetMinutes = offsetMinutes * 10 + ((*rest)[digits++] - '0');
        }
        rest->remove_prefix(digits);
        offsetMinutes = negative ? -offsetMinutes : offsetMinutes;
        return digits > 0;
    }
};

}  // namespace

int64_t floorDivide(int64_t a, int64_t b) {
    return a / b - (a % b < 0 ? 1 : 0);
}

int64_t daysOf(int64_t year, int64_t month, int64_t day) {
    year += floorDivide(month - 1, 12);
    month = month - 1 - floorDivide(month - 1, 12) * 12 + 1;
    const int64_t y = month <= 2 ? year - 1 : year;
    const int64_t era = floorDivide(y, 400);
    const int64_t yearOfEra = y - era * 400;
    const int64_t dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719468;
}

int64_t isoYearStart(int64_t year) {
    const int64_t fourth = daysOf(year, 1, 4);
    return fourth - (fourth + 3 - floorDivide(fourth + 3, 7) * 7);
}

int daysInMonth(int64_t year, int month) {
    return static_cast<int>(daysOf(year, month + 1, 1) - daysOf(year, month, 1));
}

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

StatusOr<std::string> formatDate(int64_t millis, std::string_view format, int64_t offset) {
    const CalendarTime time = calendarOf(millis + offset);
    std::string out;
    for (size_t i = 0; i < format.size(); ++i) {
        if (format[i] != '%') {
            out += format[i];
            continue;
        }
        const char what = i + 1 < format.size() ? format[i + 1] : '\0';
        ++i;
        if (!formatPart(time, offset, what, &out)) {
            return what == '\0' ? invalid(location(18535), "Unmatched '%' at end of format string")
                                : invalid(location(18536),
                                          std::string("Invalid format character '%") + what +
                                              "' in format string");
        }
    }
    return out;
}

StatusOr<int64_t> parseDateAs(std::string_view text, std::string_view format, bool* hasZone) {
    std::string_view rest = text;
    ParsedDate parsed;
    for (size_t i = 0; i < format.size(); ++i) {
        if (format[i] != '%') {
            if (!take(&rest, format[i])) {
                return unparsable(text);
            }
            continue;
        }
        if (++i == format.size()) {
            return invalid(location(18535), "Unmatched '%' at end of format string");
        }
        bool known = true;
        if (!parsed.takePart(format[i], &rest, &known)) {
            return known ? unparsable(text)
                         : invalid(location(18536),
                                   std::string("Invalid format character '%") + format[i] +
                                       "' in format string");
        }
    }
    if (!rest.empty() || !parsed.isInRange()) {
        return unparsable(text);
    }
    *hasZone = parsed.hasZone;
    return parsed.millis();
}

StatusOr<int64_t> parseDate(std::string_view text) {
    bool hasZone = false;
    return parseDate(text, &hasZone);
}

StatusOr<int64_t> parseDate(std::string_view text, bool* hasZone) {
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
    *hasZone = !rest.empty();
    if (!takeOffset(&rest, &offset) || !rest.empty() || !inRange) {
        return unparsable(text);
    }
    const int64_t minutes = (daysOf(year, month, day) * 24 + hour) * 60 + minute - offset;
    return (minutes * 60 + second) * 1000 + millis;
}

}  // namespace freshet::query
