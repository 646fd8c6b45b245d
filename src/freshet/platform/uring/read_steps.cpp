// SPDX-License-Identifier: Apache-2.0
#include "freshet/platform/uring/read_steps.h"

#include <cerrno>
#include <cstring>

namespace freshet::platform {

bool noteResult(AsyncReads::Read* read, int result) {
    if (result > 0) {
        read->got += static_cast<size_t>(result);
        return read->got == read->bytes;
    }
    if (result == 0) {
        return true;  // the end of the file
    }
    const bool passes = result == -EINTR || result == -EAGAIN;
    if (passes && ++read->refusals < kRefusalsMax) {
        return false;
    }
    read->status = Status(Code::kIo, std::string("read: ") + std::strerror(-result));
    return true;
}

}  // namespace freshet::platform
