// SPDX-License-Identifier: Apache-2.0
/// Values of options: from text, with texts for the operator when they are wrong.
#pragma once

#include "freshet/base/status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace freshet::server {

/// A whole number within bounds; "0700" is octal where `octal` says so.
StatusOr<uint64_t> wholeNumber(const std::string& text,
                               uint64_t least,
                               uint64_t most,
                               bool octal = false);
StatusOr<double> realNumber(const std::string& text, double least, double most);
/// "true" and "false", nothing else.
StatusOr<bool> truth(const std::string& text);
/// "a,b" to its parts; empty ones are refused.
StatusOr<std::vector<std::string>> list(const std::string& text);
/// The position of `text` among the choices.
StatusOr<size_t> choice(const std::string& text, const std::vector<std::string>& choices);
/// "name=value".
StatusOr<std::pair<std::string, std::string>> pair(const std::string& text);

}  // namespace freshet::server
