// SPDX-License-Identifier: Apache-2.0
/// The host function that opens an editor at the terminal.
#pragma once

#include "freshet/script/context.h"

namespace freshet::shell {

Status defineEditor(script::Context& context);

}  // namespace freshet::shell
