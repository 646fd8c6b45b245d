// SPDX-License-Identifier: Apache-2.0
/// The one place where acknowledged records become durable.
#pragma once

#include "freshet/base/status.h"
#include "freshet/platform/file.h"

namespace freshet::journal {

/// fdatasync of a segment, on the journal's helper thread. Ok: everything written before the call
/// survives a crash. Otherwise the journal has failed and this is never called again.
Status flushSegment(platform::File& file);

}  // namespace freshet::journal
