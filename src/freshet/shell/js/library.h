// SPDX-License-Identifier: Apache-2.0
/// The shell's own JavaScript: the files in this folder.
#pragma once

#include "freshet/script/source.h"

namespace freshet::shell {

std::span<const script::Source> librarySources();

}  // namespace freshet::shell
