// SPDX-License-Identifier: Apache-2.0
/// Programs started by scripts: servers under test and parallel shells.
#pragma once

#include "freshet/script/context.h"

namespace freshet::shell {

/// startProcess, waitProcess, signalProcess, freePort, processId, ownProgram.
Status defineProcesses(script::Context& context);

}  // namespace freshet::shell
