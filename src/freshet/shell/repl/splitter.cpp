// SPDX-License-Identifier: Apache-2.0
#include "freshet/shell/repl/splitter.h"

#include <utility>

namespace freshet::shell {

namespace {

/// What may stand between commands; semicolons by habit from other shells.
constexpr std::string_view kBetween = " \t\r\n;";

/// The line up to a comment. JSON's strings do not span lines, so each line begins outside one.
std::string_view withoutComment(std::string_view line) {
    bool quoted = false;
    for (size_t at = 0; at < line.size(); ++at) {
        if (quoted && line[at] == '\\') {
            ++at;
        } else if (line[at] == '"') {
            quoted = !quoted;
        } else if (!quoted && line.substr(at, 2) == "//") {
            return line.substr(0, at);
        }
    }
    return line;
}

std::string_view trimmed(std::string_view text) {
    size_t first = text.find_first_not_of(kBetween);
    return first == std::string_view::npos
               ? std::string_view()
               : text.substr(first, text.find_last_not_of(kBetween) + 1 - first);
}

}  // namespace

Status Splitter::addLine(std::string_view line) {
    line = withoutComment(line);
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
    size_t end = pending_[0] == '{' ? end_.find(pending_) : pending_.find('\n');
    if (end == 0) {
        return std::nullopt;
    }
    std::string text = takeRest();
    append(std::string_view(text).substr(end));
    return std::string(trimmed(std::string_view(text).substr(0, end)));
}

void Splitter::append(std::string_view text) {
    if (pending_.empty()) {
        text = trimmed(text);
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
