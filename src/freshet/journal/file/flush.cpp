// SPDX-License-Identifier: Apache-2.0
/// In a file of its own, because the crash tests also build it with the flush left out and must
/// notice that.
#include "freshet/journal/file/flush.h"

namespace freshet::journal {

Status flushSegment(platform::File& file) {
#ifdef FRESHET_MUTANT_OMIT_FLUSH
    static_cast<void>(file);
    return Status::ok();
#else
    return file.sync();
#endif
}

}  // namespace freshet::journal
