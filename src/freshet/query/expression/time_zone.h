// SPDX-License-Identifier: Apache-2.0
/// Time zones: names of the Olson database ("Europe/Berlin") and fixed offsets ("+02:00").
/// Immutable; any thread. The ones returned live as long as the thread.
#pragma once

#include "freshet/base/status.h"

#include <cstdint>
#include <memory>
#include <string_view>

namespace freshet::query {

class TimeZone {
public:
    /// kInvalid (location 40485) when there is no such zone.
    static StatusOr<const TimeZone*> find(std::string_view name);
    static const TimeZone& utc();
    ~TimeZone();

    /// What to add to UTC for local time, in milliseconds.
    int64_t offsetAt(int64_t utcMillis) const;
    int64_t toLocal(int64_t utcMillis) const { return utcMillis + offsetAt(utcMillis); }
    /// A local time that does not exist, or exists twice, is taken by the offset before the change.
    int64_t toUtc(int64_t localMillis) const;
    bool isUtc() const { return rules_ == nullptr && fixedOffset_ == 0; }

private:
    struct Rules;
    TimeZone();
    int64_t fixedOffset_ = 0;
    std::unique_ptr<Rules> rules_;  // null: the offset is fixed
};

}  // namespace freshet::query
