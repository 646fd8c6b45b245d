// SPDX-License-Identifier: Apache-2.0
/// Asking for a password at the terminal.
#pragma once

#include <optional>
#include <string>

namespace freshet::shell {

/// Shows `prompt` and reads a line that is not shown, at the terminal that controls the process,
/// whatever standard input is. Nothing when there is no terminal.
std::optional<std::string> askPassword(const std::string& prompt);

}  // namespace freshet::shell
