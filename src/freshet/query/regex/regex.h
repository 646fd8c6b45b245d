// SPDX-License-Identifier: Apache-2.0
/// A compiled regular expression: PCRE2, UTF-8, with bounded work per match. Immutable; any thread.
#pragma once

#include "freshet/base/status.h"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace freshet::query {

class Regex {
public:
    /// `flags`: any of i, m, s, x and u. kInvalid (kRegexInvalid) for other flags or a bad pattern.
    static StatusOr<std::shared_ptr<const Regex>> compile(std::string_view pattern,
                                                          std::string_view flags);
    ~Regex();

    /// Whether it matches anywhere in `text`. Bytes that are not UTF-8 match nothing; neither does
    /// a text that needs more than kSteps steps.
    bool matches(std::string_view text) const;

    /// The first match at or after byte `from`: begin and end of the whole match and of each group;
    /// npos for a group that took no part. Empty if there is no match; kLimit when it needs more
    /// than kSteps steps.
    using Span = std::pair<size_t, size_t>;
    StatusOr<std::vector<Span>> find(std::string_view text, size_t from) const;

    static constexpr uint32_t kSteps = 2'000'000;
    static constexpr uint32_t kDepth = 100'000;

private:
    struct Impl;
    explicit Regex(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace freshet::query
