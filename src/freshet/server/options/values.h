// SPDX-License-Identifier: Apache-2.0
/// Parsing the values of options, with error texts for the operator.
#pragma once

#include "freshet/base/status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace freshet::server {

/// A whole number within bounds; "0700" is octal where `octal` is set.
StatusOr<uint64_t> wholeNumber(const std::string& text,
                               uint64_t least,
                               uint64_t most,
                               bool octal = false);
StatusOr<double> realNumber(const std::string& text, double least, double most);
/// Only "true" and "false".
StatusOr<bool> truth(const std::string& text);
/// The parts of "a,b"; empty ones are refused.
StatusOr<std::vector<std::string>> list(const std::string& text);
/// The index of `text` among the choices.
StatusOr<size_t> choice(const std::string& text, const std::vector<std::string>& choices);
/// "name=value".
StatusOr<std::pair<std::string, std::string>> pair(const std::string& text);

}  // namespace freshet::server
