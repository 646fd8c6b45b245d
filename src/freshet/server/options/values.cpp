// SPDX-License-Identifier: Apache-2.0
#include "freshet/server/options/values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

namespace freshet::server {
namespace {

Status wrong(const std::string& text, const std::string& wanted) {
    return Status(Code::kInvalid, "'" + text + "' is not " + wanted);
}

/// `value` without trailing zeros.
std::string shortNumber(double value) {
    std::string text = std::to_string(value);
    text.erase(text.find_last_not_of('0') + 1);
    return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
}

/// As people write permissions: with a zero before it.
std::string octalText(uint64_t value) {
    char digits[24] = "0";
    char* const first = value == 0 ? digits : digits + 1;
    return {digits, std::to_chars(first, std::end(digits), value, 8).ptr};
}

}  // namespace

StatusOr<uint64_t> wholeNumber(const std::string& text, uint64_t least, uint64_t most, bool octal) {
    uint64_t value = 0;
    const int base = octal && text.size() > 1 && text[0] == '0' ? 8 : 10;
    const char* const textEnd = text.data() + text.size();
    auto [end, error] = std::from_chars(text.data(), textEnd, value, base);
    if (error != std::errc() || end != textEnd || value < least || value > most) {
        return wrong(
            text,
            octal ? "an octal number from " + octalText(least) + " to " + octalText(most)
                  : "a number from " + std::to_string(least) + " to " + std::to_string(most));
    }
    return value;
}

StatusOr<double> realNumber(const std::string& text, double least, double most) {
    double value = 0;
    const char* const textEnd = text.data() + text.size();
    auto [end, error] = std::from_chars(text.data(), textEnd, value);
    if (error != std::errc() || end != textEnd || !(value >= least && value <= most)) {
        return wrong(text, "a number from " + shortNumber(least) + " to " + shortNumber(most));
    }
    return value;
}

StatusOr<bool> truth(const std::string& text) {
    if (text != "true" && text != "false") {
        return wrong(text, "true or false");
    }
    return text == "true";
}

StatusOr<std::vector<std::string>> list(const std::string& text) {
    std::vector<std::string> parts;
    for (size_t start = 0; start <= text.size();) {
        const size_t end = std::min(text.find(',', start), text.size());
        size_t first = start;
        while (first < end && text[first] == ' ') {
            ++first;
        }
        parts.push_back(text.substr(first, end - first));
        if (parts.back().empty()) {
            return wrong(text, "a list separated by commas without empty parts");
        }
        start = end + 1;
    }
    return parts;
}

StatusOr<size_t> choice(const std::string& text, const std::vector<std::string>& choices) {
    auto found = std::find(choices.begin(), choices.end(), text);
    if (found == choices.end()) {
        std::string all;
        for (const std::string& one : choices) {
            all += (all.empty() ? "" : ", ") + one;
        }
        return wrong(text, "one of " + all);
    }
    return static_cast<size_t>(found - choices.begin());
}

StatusOr<std::pair<std::string, std::string>> pair(const std::string& text) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
        return wrong(text, "of the form name=value");
    }
    return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

}  // namespace freshet::server
