// SPDX-License-Identifier: Apache-2.0
/// Time zones: names of the Olson database ("Europe/Berlin") and fixed offsets ("+02:00").
/// Immutable; any thread. A returned zone lives as long as the thread that called find().
#pragma once

#include "freshet/base/status.h"

#include <cstdint>
#include <memory>
#include <string_view>

namespace freshet::query {

class TimeZone {
public:
    /// kInvalid (location 40485) if there is no such zone.
    static StatusOr<const TimeZone*> find(std::string_view name);
    static const TimeZone& utc();
    ~TimeZone();

    /// The difference from UTC to local time, in milliseconds.
    int64_t offsetAt(int64_t utcMillis) const;
    int64_t toLocal(int64_t utcMillis) const { return utcMillis + offsetAt(utcMillis); }
    /// For a local time that does not exist, or exists twice, the offset before the change is used.
    int64_t toUtc(int64_t localMillis) const;
    bool isUtc() const { return rules_ == nullptr && fixedOffset_ == 0; }

private:
    struct Rules;
    TimeZone();
    int64_t fixedOffset_ = 0;
    std::unique_ptr<Rules> rules_;  // null: the offset is fixed
};

}  // namespace freshet::query
