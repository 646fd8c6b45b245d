// SPDX-License-Identifier: Apache-2.0
/// The shell, from its arguments to its exit code.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace freshet::shell {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;

/// `arguments` without the program's name. `isTerminal`: a person types commands on standard input;
/// then failed commands do not affect the exit code.
int runShell(const std::vector<std::string>& arguments,
             bool isTerminal,
             std::istream& in,
             std::ostream& out,
             std::ostream& err);

}  // namespace freshet::shell
