// SPDX-License-Identifier: Apache-2.0
/// Reading a password from the terminal.
#pragma once

#include <optional>
#include <string>

namespace freshet::shell {

/// Shows `prompt` and reads a line without echo from the controlling terminal, whatever standard
/// input is. Nothing when there is no terminal.
std::optional<std::string> askPassword(const std::string& prompt);

}  // namespace freshet::shell
