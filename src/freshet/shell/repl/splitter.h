// SPDX-License-Identifier: Apache-2.0
/// Cuts lines of input into commands: an Extended JSON object, over as many lines as it takes, or
/// the words of one line ("use shop"). Comments from // to the end of a line are dropped, except
/// in strings.
#pragma once

#include "freshet/base/status.h"
#include "freshet/bson/json.h"

#include <optional>
#include <string>
#include <string_view>

namespace freshet::shell {

class Splitter {
public:
    /// More unfinished text than a message can hold is no command.
    static constexpr size_t kPendingBytesMax = 48'000'000;

    /// kLimit, and all unfinished text is dropped, beyond kPendingBytesMax.
    Status addLine(std::string_view line);
    /// The next whole command, without space around it.
    std::optional<std::string> next();
    /// Whether an object has been begun and not ended. Call after next() gave nothing.
    bool isOpen() const { return !pending_.empty(); }
    /// The unfinished text, which is thereby dropped.
    std::string takeRest();

private:
    void append(std::string_view text);

    std::string pending_;      // empty, or starts with a command and ends with a new line
    bson::JsonEndFinder end_;  // of the object that pending_ starts with
};

}  // namespace freshet::shell
