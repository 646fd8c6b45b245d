// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/session/tls_pump.h"

#include <algorithm>
#include <cstring>

namespace freshet::transport {

StatusOr<bool> movePlain(security::TlsChannel& channel,
                         MessageCutter& cutter,
                         std::span<char> scratch) {
    constexpr size_t kOnceBytes = 16 * 1024;  // a record
    thread_local std::string plain;           // so that no session owns one
    plain.clear();
    const std::span<char> room = cutter.target(scratch);
    FRESHET_ASSIGN_OR_RETURN(size_t bytes,
                             channel.readPlain(&plain, std::min(room.size(), kOnceBytes)));
    if (bytes > 0) {
        std::memcpy(room.data(), plain.data(), bytes);
        cutter.arrived(room.data(), bytes);
    }
    return bytes > 0;
}

StatusOr<std::string> Sealer::next() {
    size_t taken = 0;
    while (!isDone() && taken < kPortionBytes) {
        const ByteView rest = chain_.segment(segment_).substr(offset_);
        const ByteView part = rest.substr(0, kPortionBytes - taken);
        FRESHET_RETURN_IF_ERROR(channel_.writePlain(part));
        taken += part.size();
        offset_ += part.size();
        if (part.size() == rest.size()) {
            ++segment_;
            offset_ = 0;
        }
    }
    return channel_.drainCipher();
}

}  // namespace freshet::transport
