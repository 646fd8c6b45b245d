// SPDX-License-Identifier: Apache-2.0
/// Helpers for parsing connection strings and the options in DNS.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace freshet::client {

/// Takes the text before `separator` off the front; all of it when there is none.
inline std::string_view takeUntil(std::string_view* text, char separator) {
    const size_t at = text->find(separator);
    const std::string_view front = text->substr(0, at);
    text->remove_prefix(at == std::string_view::npos ? text->size() : at + 1);
    return front;
}

inline std::string lowered(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return out;
}

/// Letters, digits, '-' and '_' in labels separated by dots: messages for people and the check of
/// certificates see no other names.
inline bool isHostName(std::string_view name) {
    const auto isOrdinary = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_' || c == '.';
    };
    return !name.empty() && name.front() != '.' && name.find("..") == std::string_view::npos &&
           std::all_of(name.begin(), name.end(), isOrdinary);
}

}  // namespace freshet::client
