// SPDX-License-Identifier: Apache-2.0
#include "freshet/catalog/storage_engine.h"

#include <algorithm>
#include <cctype>

namespace freshet::catalog {

namespace {

Status refused(Reason reason, std::string text) {
    return Status(Code::kInvalid, reason, std::move(text));
}

/// The form in which mongod reports errors of its engine.
Status badConfig(const std::string& why) {
    return refused(Reason::kBadValue, "22: Invalid argument. " + why + ".");
}

std::string_view trimmed(std::string_view text) {
    const auto isOuter = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '"'; };
    while (!text.empty() && isOuter(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && isOuter(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

/// The length of the first setting; npos: a bracket or quote is not closed.
size_t endOfSetting(std::string_view text) {
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        quoted ^= c == '"';
        if (quoted) {
            continue;
        }
        depth += c == '(' || c == '[' || c == '{' ? 1 : 0;
        depth -= c == ')' || c == ']' || c == '}' ? 1 : 0;
        if (depth < 0) {
            return std::string_view::npos;
        }
        if (c == ',' && depth == 0) {
            return i;
        }
    }
    return depth == 0 && !quoted ? text.size() : std::string_view::npos;
}

/// `text`: settings such as `a=1,b=(c=2,d="e")`. The last block_compressor counts.
StatusOr<std::optional<engine::Codec>> codecOfConfig(std::string_view text) {
    std::optional<engine::Codec> codec;
    while (!text.empty()) {
        const size_t end = endOfSetting(text);
        if (end == std::string_view::npos) {
            return badConfig("Unbalanced brackets");
        }
        const std::string_view setting = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const size_t sign = setting.find_first_of("=:");
        if (sign == std::string_view::npos ||
            trimmed(setting.substr(0, sign)) != "block_compressor") {
            continue;
        }
        const std::string_view name = trimmed(setting.substr(sign + 1));
        codec = name.empty() ? engine::Codec::kNone : codecNamed(name);
        if (!codec.has_value()) {
            return badConfig("unknown compressor '" + std::string(name) + "'");
        }
    }
    return codec;
}

}  // namespace

std::optional<engine::Codec> codecNamed(std::string_view name) {
    std::string lower(name);
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) {
        return static_cast<char>(std::tolower(c));
    });
    if (lower == "none") {
        return engine::Codec::kNone;
    }
    if (lower == "snappy") {
        return engine::Codec::kSnappy;
    }
    if (lower == "zlib" || lower == "zstd") {
        return engine::Codec::kZstd;
    }
    return std::nullopt;
}

StatusOr<std::optional<engine::Codec>> codecOf(bson::Document storageEngine) {
    std::optional<engine::Codec> codec;
    for (const bson::Element& engine : storageEngine) {
        const std::string name(engine.name());
        if (!engine.isObject()) {
            return refused(Reason::kBadValue,
                           "'storageEngine." + name + "' has to be an embedded document.");
        }
        if (name != "wiredTiger") {
            return refused(Reason::kInvalidOptions,
                           name + " is not a registered storage engine for this server");
        }
        for (const bson::Element& option : engine.document()) {
            if (option.name() != "configString") {
                return refused(Reason::kInvalidOptions,
                               "'" + std::string(option.name()) + "' is not a supported option.");
            }
            if (!option.isString()) {
                return refused(Reason::kTypeMismatch, "'configString' must be a string.");
            }
            const std::string_view config = option.stringValue();
            if (config.find('\0') != std::string_view::npos) {
                return refused(Reason::kFailedToParse, "malformed 'configString' value.");
            }
            FRESHET_ASSIGN_OR_RETURN(codec, codecOfConfig(config));
        }
    }
    return codec;
}

}  // namespace freshet::catalog
