// SPDX-License-Identifier: Apache-2.0
#include "freshet/telemetry/line/json_line.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace freshet::telemetry {
namespace {

constexpr size_t kMessageBytesMax = 16 * 1024;
constexpr size_t kComponentWidth = 12;  // with quotes and comma
constexpr size_t kIdWidth = 9;
constexpr size_t kSeverityWidth = 6;

/// Length of the well-formed UTF-8 sequence at the front of `text`, 0 when it is none.
size_t utf8Length(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text[0]);
    const size_t length = lead < 0x80                    ? 1
                          : lead >= 0xc2 && lead <= 0xdf ? 2
                          : (lead & 0xf0) == 0xe0        ? 3
                          : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                         : 0;
    if (length == 0 || length > text.size()) {
        return 0;
    }
    for (size_t i = 1; i < length; ++i) {
        if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) {
            return 0;
        }
    }
    return length;
}

void appendEscaped(std::string* out, char c) {
    static constexpr std::pair<char, char> kShort[] = {
        {'"', '"'}, {'\\', '\\'}, {'\n', 'n'}, {'\r', 'r'}, {'\t', 't'}, {'\b', 'b'}, {'\f', 'f'}};
    for (const auto& [raw, letter] : kShort) {
        if (c == raw) {
            *out += {'\\', letter};
            return;
        }
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
        char escape[8];
        std::snprintf(escape, sizeof(escape), "\\u%04x", static_cast<unsigned char>(c));
        *out += escape;
    } else {
        *out += c;
    }
}

void appendString(std::string* out, std::string_view text) {
    *out += '"';
    while (!text.empty()) {
        const size_t length = utf8Length(text);
        if (length == 1) {
            appendEscaped(out, text[0]);
        } else if (length == 0) {
            *out += "\xef\xbf\xbd";  // the replacement character
        } else {
            *out += text.substr(0, length);
        }
        text.remove_prefix(std::max<size_t>(length, 1));
    }
    *out += '"';
}

/// `text` cut to at most `bytes` bytes, not inside a character.
std::string_view cut(std::string_view text, size_t bytes) {
    if (text.size() <= bytes) {
        return text;
    }
    while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) {
        --bytes;
    }
    return text.substr(0, bytes);
}

std::string number(double value) {
    if (!std::isfinite(value)) {
        return std::isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    }
    std::array<char, 32> text;
    auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    return std::string(text.data(), end);
}

/// The bytes of a value that can be cut; 0 if it cannot.
size_t cuttableBytes(const LogAttribute& attribute) {
    if (const auto* text = std::get_if<std::string>(&attribute.value)) {
        return text->size();
    }
    const auto* json = std::get_if<JsonText>(&attribute.value);
    return json != nullptr ? json->text.size() : 0;
}

void appendValue(std::string* out, const LogAttribute& attribute, size_t bytesMax) {
    struct Visitor {
        std::string* out;
        size_t bytesMax;
        void operator()(int64_t value) { *out += std::to_string(value); }
        void operator()(bool value) { *out += value ? "true" : "false"; }
        void operator()(double value) { *out += number(value); }
        void operator()(const std::string& value) { appendString(out, cut(value, bytesMax)); }
        void operator()(const JsonText& value) {
            // A part of an object is not valid JSON, so a cut value becomes a string.
            if (value.text.size() <= bytesMax) {
                *out += value.text;
            } else {
                appendString(out, cut(value.text, bytesMax));
            }
        }
    };
    std::visit(Visitor{out, bytesMax}, attribute.value);
}

/// The most that any one value may have so that all fit.
size_t shareOf(const LogAttributes& attributes) {
    std::vector<size_t> sizes;
    size_t total = 0;
    for (const LogAttribute& attribute : attributes) {
        sizes.push_back(cuttableBytes(attribute));
        total += sizes.back();
    }
    if (total <= kAttributeBytesMax) {
        return SIZE_MAX;
    }
    // Large values share what the small ones leave.
    std::sort(sizes.begin(), sizes.end());
    size_t left = kAttributeBytesMax;
    for (size_t i = 0; i < sizes.size(); ++i) {
        const size_t share = left / (sizes.size() - i);
        if (sizes[i] > share) {
            return share;
        }
        left -= sizes[i];
    }
    return left;
}

void appendAttributes(std::string* out, const LogAttributes& attributes) {
    const size_t share = shareOf(attributes);
    std::string truncated;
    std::string sizes;
    *out += ",\"attr\":{";
    for (const LogAttribute& attribute : attributes) {
        if (out->back() != '{') {
            *out += ',';
        }
        appendString(out, attribute.name);
        *out += ':';
        appendValue(out, attribute, share);
        if (const size_t bytes = cuttableBytes(attribute); bytes > share) {
            for (std::string* list : {&truncated, &sizes}) {
                *list += list->empty() ? "" : ",";
                appendString(list, attribute.name);
            }
            truncated += ":{\"type\":\"string\",\"size\":" + std::to_string(bytes) + "}";
            sizes += ":" + std::to_string(bytes);
        }
    }
    *out += '}';
    if (!truncated.empty()) {
        *out += ",\"truncated\":{" + truncated + "},\"size\":{" + sizes + "}";
    }
}

std::string_view severityTag(Severity severity) {
    static constexpr std::string_view kTags[] = {"D5", "D4", "D3", "D2", "D1", "I", "W", "E", "F"};
    return kTags[static_cast<size_t>(severity)];
}

void appendPadded(std::string* out, std::string_view text, size_t width) {
    *out += text;
    out->append(width > text.size() ? width - text.size() : 0, ' ');
}

}  // namespace

std::string isoTime(int64_t wallMillis, bool utc) {
    const time_t seconds = wallMillis / 1000;
    tm parts;
    utc ? ::gmtime_r(&seconds, &parts) : ::localtime_r(&seconds, &parts);
    char day[32];
    char all[64];
    ::strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &parts);
    const int millis = static_cast<int>(wallMillis % 1000);
    if (utc) {
        std::snprintf(all, sizeof(all), "%s.%03dZ", day, millis);
    } else {
        const long minutes = parts.tm_gmtoff / 60;
        std::snprintf(all,
                      sizeof(all),
                      "%s.%03d%c%02ld:%02ld",
                      day,
                      millis,
                      minutes < 0 ? '-' : '+',
                      std::abs(minutes) / 60,
                      std::abs(minutes) % 60);
    }
    return all;
}

std::string renderLine(const Line& line) {
    std::string out = "{\"t\":{\"$date\":\"" + isoTime(line.wallMillis, line.utc) + "\"},\"s\":";
    appendPadded(&out, "\"" + std::string(severityTag(line.severity)) + "\",", kSeverityWidth);
    out += "\"c\":";
    appendPadded(&out, "\"" + std::string(componentTag(line.component)) + "\",", kComponentWidth);
    out += "\"id\":";
    appendPadded(&out, std::to_string(static_cast<int32_t>(line.id)) + ",", kIdWidth);
    out += "\"ctx\":";
    appendString(&out, line.context);
    out += ",\"msg\":";
    appendString(&out, cut(line.message, kMessageBytesMax));
    if (!line.attributes.empty()) {
        appendAttributes(&out, line.attributes);
    }
    if (line.isStartupWarning) {
        out += ",\"tags\":[\"startupWarnings\"]";
    }
    return out + "}";
}

}  // namespace freshet::telemetry
