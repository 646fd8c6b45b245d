// SPDX-License-Identifier: Apache-2.0
/// In a file of its own, because the crash tests also build it with the flush left out and must
/// notice that.
#include "freshet/journal/file/flush.h"

#include "freshet/journal/file/mutant.h"

namespace freshet::journal {

Status flushSegment(platform::File& file) {
    return mutated(Mutant::kOmitFlush) ? Status::ok() : file.sync();
}

}  // namespace freshet::journal
