// SPDX-License-Identifier: Apache-2.0
#include "freshet/shell/repl/splitter.h"

#include <utility>

namespace freshet::shell {

namespace {

/// Characters allowed between commands; semicolons because of habits from other shells.
constexpr std::string_view kBetween = " \t\r\n;";

std::string_view trimmed(std::string_view text) {
    size_t first = text.find_first_not_of(kBetween);
    return first == std::string_view::npos
               ? std::string_view()
               : text.substr(first, text.find_last_not_of(kBetween) + 1 - first);
}

}  // namespace

Status Splitter::addLine(std::string_view line) {
    if (pending_.size() + line.size() >= kPendingBytesMax) {
        takeRest();
        return Status(Code::kLimit, "a command is longer than a message may be");
    }
    append(line);
    return Status::ok();
}

std::optional<std::string> Splitter::next() {
    if (pending_.empty()) {
        return std::nullopt;
    }
    const bool inBraces = pending_[0] == '{';
    if (!inBraces && isWhole_) {
        if (!isWhole_(pending_)) {
            return std::nullopt;
        }
        return std::string(trimmed(takeRest()));
    }
    const size_t end = inBraces ? end_.find(pending_) : pending_.find('\n');
    if (end == 0) {
        return std::nullopt;
    }
    const std::string input =
        inBraces ? end_.withoutComments(pending_, end) : pending_.substr(0, end);
    const std::string text = takeRest();
    append(std::string_view(text).substr(end));
    return std::string(trimmed(input));
}

void Splitter::append(std::string_view text) {
    if (pending_.empty()) {
        text = trimmed(text);
        while (text.starts_with("//")) {  // a comment before a command
            const size_t end = text.find('\n');
            text = end == std::string_view::npos ? std::string_view() : trimmed(text.substr(end));
        }
    }
    if (!pending_.empty() || !text.empty()) {
        pending_.append(text).push_back('\n');
    }
}

std::string Splitter::takeRest() {
    end_ = {};
    return std::exchange(pending_, {});
}

}  // namespace freshet::shell
