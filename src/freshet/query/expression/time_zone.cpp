// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/expression/time_zone.h"

#include <absl/container/flat_hash_map.h>
#include <unicode/timezone.h>

#include <algorithm>
#include <iterator>
#include <string>

namespace freshet::query {

struct TimeZone::Rules {
    std::unique_ptr<icu::TimeZone> zone;
};

TimeZone::TimeZone() = default;
TimeZone::~TimeZone() = default;

namespace {

constexpr size_t kZonesKept = 1000;  // the database has about 600 names
constexpr int64_t kMinuteMillis = 60'000;

/// "+hh", "+hhmm", "+hh:mm"; false if it is not an offset.
bool parseOffset(std::string_view text, int64_t* millis) {
    if (text.size() < 3 || (text[0] != '+' && text[0] != '-')) {
        return false;
    }
    std::string digits;
    for (size_t i = 1; i < text.size(); ++i) {
        if (text[i] == ':' && i == 3 && text.size() == 6) {
            continue;
        }
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        digits += text[i];
    }
    if (digits.size() != 2 && digits.size() != 4) {
        return false;
    }
    const int64_t hours = (digits[0] - '0') * 10 + (digits[1] - '0');
    const int64_t minutes = digits.size() == 4 ? (digits[2] - '0') * 10 + (digits[3] - '0') : 0;
    *millis = (hours * 60 + minutes) * kMinuteMillis * (text[0] == '-' ? -1 : 1);
    return true;
}

/// Names that ICU has for compatibility and the time zone database has not.
bool isOnlyOfIcu(std::string_view name) {
    static constexpr std::string_view kShort[] = {
        "ACT", "AET", "AGT", "ART", "AST", "BET", "BST", "CAT", "CNT", "CST", "CTT", "EAT", "ECT",
        "IET", "IST", "JST", "MIT", "NET", "NST", "PLT", "PNT", "PRT", "PST", "SST", "VST"};
    return name.starts_with("SystemV/") ||
           std::find(std::begin(kShort), std::end(kShort), name) != std::end(kShort);
}

}  // namespace

const TimeZone& TimeZone::utc() {
    static const TimeZone zone;
    return zone;
}

StatusOr<const TimeZone*> TimeZone::find(std::string_view name) {
    if (name == "UTC" || name == "GMT" || name == "Z") {
        return &utc();
    }
    static thread_local absl::flat_hash_map<std::string, std::unique_ptr<TimeZone>> known;
    if (const auto at = known.find(std::string(name)); at != known.end()) {
        return static_cast<const TimeZone*>(at->second.get());
    }
    std::unique_ptr<TimeZone> made(new TimeZone());
    if (!parseOffset(name, &made->fixedOffset_)) {
        auto rules = std::make_unique<Rules>();
        rules->zone.reset(icu::TimeZone::createTimeZone(icu::UnicodeString::fromUTF8(
            icu::StringPiece(name.data(), static_cast<int32_t>(name.size())))));
        icu::UnicodeString id;
        rules->zone->getID(id);
        std::string text;
        id.toUTF8String(text);
        // Names that ICU does not know become its unknown zone; its custom "GMT+2" is not a valid
        // name here, and neither are those that the time zone database does not have.
        if (text != name || isOnlyOfIcu(name) || *rules->zone == icu::TimeZone::getUnknown()) {
            return invalid(location(40485),
                           "unrecognized time zone identifier: \"" + std::string(name) + "\"");
        }
        made->rules_ = std::move(rules);
    }
    if (known.size() >= kZonesKept) {
        known.clear();
    }
    return static_cast<const TimeZone*>((known[std::string(name)] = std::move(made)).get());
}

int64_t TimeZone::offsetAt(int64_t utcMillis) const {
    if (rules_ == nullptr) {
        return fixedOffset_;
    }
    int32_t raw = 0;
    int32_t saving = 0;
    UErrorCode error = U_ZERO_ERROR;
    rules_->zone->getOffset(static_cast<UDate>(utcMillis), false, raw, saving, error);
    return U_SUCCESS(error) ? int64_t{raw} + saving : 0;
}

int64_t TimeZone::toUtc(int64_t localMillis) const {
    if (rules_ == nullptr) {
        return localMillis - fixedOffset_;
    }
    int32_t raw = 0;
    int32_t saving = 0;
    UErrorCode error = U_ZERO_ERROR;
    rules_->zone->getOffset(static_cast<UDate>(localMillis), true, raw, saving, error);
    return U_SUCCESS(error) ? localMillis - raw - saving : localMillis;
}

}  // namespace freshet::query
