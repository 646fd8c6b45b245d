// SPDX-License-Identifier: Apache-2.0
/// Reads a command line of `--name value` pairs and `--flag`s into a struct of options.
#pragma once

#include "freshet/base/status.h"

#include <charconv>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace freshet::bench {

inline std::vector<std::string> splitAtCommas(const std::string& text) {
    std::vector<std::string> out;
    for (size_t at = 0; at <= text.size();) {
        const size_t comma = std::min(text.find(',', at), text.size());
        out.push_back(text.substr(at, comma - at));
        at = comma + 1;
    }
    return out;
}

template <typename T>
Status number(const std::string& text, uint64_t least, uint64_t most, T* out) {
    uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || value < least || value > most) {
        return badValue("'" + text + "' is not a number from " + std::to_string(least) + " to " +
                        std::to_string(most));
    }
    *out = static_cast<T>(value);
    return Status::ok();
}

/// Like number(), with an optional suffix K, M or G: 1,024 and its powers.
inline Status byteCount(const std::string& text, uint64_t least, uint64_t most, uint64_t* out) {
    constexpr std::string_view kSuffixes = "KMG";
    const size_t suffix = text.empty() ? std::string_view::npos : kSuffixes.find(text.back());
    const bool hasSuffix = suffix != std::string_view::npos;
    const uint64_t unit = hasSuffix ? uint64_t{1024} << (10 * suffix) : 1;
    uint64_t units = 0;
    FRESHET_RETURN_IF_ERROR(number(
        text.substr(0, text.size() - (hasSuffix ? 1 : 0)), least / unit, most / unit, &units));
    *out = units * unit;
    return Status::ok();
}

/// By option name: the function that stores the option's value. Options with a value.
template <typename Options>
using Setters = std::map<std::string, std::function<Status(Options*, const std::string&)>>;
/// Options without a value.
template <typename Options>
using Flags = std::map<std::string, bool Options::*>;

/// Returns kInvalid, with a text for the user that names the option.
template <typename Options>
Status parseArguments(const std::vector<std::string>& arguments,
                      const Setters<Options>& setters,
                      const Flags<Options>& flags,
                      Options* out) {
    for (size_t i = 0; i < arguments.size(); ++i) {
        const std::string& name = arguments[i];
        if (auto flag = flags.find(name); flag != flags.end()) {
            out->*(flag->second) = true;
        } else if (auto setter = setters.find(name); setter == setters.end()) {
            return badValue("unknown option '" + name + "'");
        } else if (++i == arguments.size()) {
            return badValue(name + " needs a value");
        } else if (Status set = setter->second(out, arguments[i]); !set.isOk()) {
            return set.withContext(name);
        }
    }
    return Status::ok();
}

}  // namespace freshet::bench
