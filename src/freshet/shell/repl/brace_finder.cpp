// SPDX-License-Identifier: Apache-2.0
#include "freshet/shell/repl/brace_finder.h"

namespace freshet::shell {

size_t BraceFinder::find(std::string_view text) {
    bool goesOn = true;
    while (goesOn && end_ == 0 && at_ < text.size()) {
        switch (within_) {
            case 0:
                plain(text);
                break;
            case '/':
            case '*':
                goesOn = comment(text);
                break;
            default:
                escapable(text);
        }
    }
    return end_;
}

std::string BraceFinder::withoutComments(std::string_view text, size_t end) const {
    std::string result;
    size_t from = 0;
    for (const auto& [first, last] : comments_) {
        result += text.substr(from, first - from);
        from = last;
    }
    return result += text.substr(from, end - from);
}

void BraceFinder::plain(std::string_view text) {
    const char here = text[at_];
    const std::string_view two = text.substr(at_, 2);
    if (two == "//" || two == "/*") {
        within_ = two[1];
        commentAt_ = at_;
        at_ += two.size();
        return;
    }
    ++at_;
    if (here == '"' || here == '\'' || here == '`') {
        within_ = here;
    } else if (here == '/' && beginsPattern()) {
        within_ = 'r';
        isClass_ = false;
    } else if (here == '{') {
        open_.push_back('{');
    } else if (here == '}' && !open_.empty()) {
        within_ = open_.back() == '$' ? '`' : '\0';
        open_.pop_back();
        end_ = open_.empty() ? at_ : 0;
    }
    last_ = here == ' ' || here == '\t' || here == '\n' ? last_ : here;
}

void BraceFinder::escapable(std::string_view text) {
    const char here = text[at_];
    if (here == '\\') {
        at_ += 2;
        return;
    }
    ++at_;
    within_ == 'r' ? pattern(here) : quoted(here, text);
}

void BraceFinder::quoted(char here, std::string_view text) {
    if (here == within_ || (here == '\n' && within_ != '`')) {
        within_ = 0;  // a string that is not closed on its line is an error, and is reported as one
    } else if (within_ == '`' && here == '$' && at_ < text.size() && text[at_] == '{') {
        ++at_;
        within_ = 0;
        open_.push_back('$');
        last_ = '{';
    }
}

bool BraceFinder::comment(std::string_view text) {
    const std::string_view closing = within_ == '/' ? "\n" : "*/";
    const size_t end = text.find(closing, at_);
    if (end == std::string_view::npos) {
        at_ = text.size() - 1;  // the last byte may be the first of the closing two
        return false;
    }
    at_ = within_ == '/' ? end : end + closing.size();  // the line's end is kept
    comments_.emplace_back(commentAt_, at_);
    within_ = 0;
    return true;
}

void BraceFinder::pattern(char here) {
    if (here == '[' || here == ']') {
        isClass_ = here == '[';
    } else if ((here == '/' && !isClass_) || here == '\n') {
        within_ = 0;
        last_ = 'r';
    }
}

/// A slash after a value is a division, otherwise it begins a regular expression.
bool BraceFinder::beginsPattern() const {
    constexpr std::string_view kBefore = "(,=:[!&|?{};+-*%<>~^";
    return kBefore.find(last_) != std::string_view::npos;
}

}  // namespace freshet::shell
