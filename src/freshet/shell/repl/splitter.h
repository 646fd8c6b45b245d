// SPDX-License-Identifier: Apache-2.0
/// Cuts lines of input into inputs that can be run: an object or block in braces, over any number
/// of lines, or as many lines as `isWhole` asks for. Comments inside braces, and those before a
/// command, are dropped.
#pragma once

#include "freshet/base/status.h"
#include "freshet/shell/repl/brace_finder.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace freshet::shell {

class Splitter {
public:
    /// More unfinished text than a message can hold is not a command.
    static constexpr size_t kPendingBytesMax = 48'000'000;

    using IsWhole = std::function<bool(const std::string&)>;

    /// Without `isWhole` each line is an input.
    explicit Splitter(IsWhole isWhole = {}) : isWhole_(std::move(isWhole)) {}

    /// kLimit, and all unfinished text is dropped, beyond kPendingBytesMax.
    Status addLine(std::string_view line);
    /// The next input, without white space around it.
    std::optional<std::string> next();
    /// Whether an object was begun and not ended. Call it after next() returned nothing.
    bool isOpen() const { return !pending_.empty(); }
    /// Returns and drops the unfinished text.
    std::string takeRest();

private:
    void append(std::string_view text);

    IsWhole isWhole_;
    std::string pending_;  // empty, or starts with a command and ends with a new line
    BraceFinder end_;      // of the object or block at the start of pending_
};

}  // namespace freshet::shell
