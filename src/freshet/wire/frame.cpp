// SPDX-License-Identifier: Apache-2.0
#include "freshet/wire/frame.h"

#include "freshet/base/assert.h"

namespace freshet::wire {

Status malformed(std::string text) {
    return invalid(Reason::kProtocolError, std::move(text));
}

StatusOr<Header> parseHeader(ByteView bytes) {
    invariant(bytes.size() >= kHeaderBytes);
    Header header;
    header.messageBytes = loadLe<int32_t>(bytes.data());
    header.requestId = loadLe<int32_t>(bytes.data() + 4);
    header.responseTo = loadLe<int32_t>(bytes.data() + 8);
    header.opCode = loadLe<int32_t>(bytes.data() + 12);
    if (header.messageBytes < static_cast<int32_t>(kHeaderBytes) ||
        header.messageBytes > static_cast<int32_t>(kMessageBytesMax)) {
        return malformed("Message length " + std::to_string(header.messageBytes) +
                         " is not between " + std::to_string(kHeaderBytes) + " and " +
                         std::to_string(kMessageBytesMax));
    }
    return header;
}

void storeHeader(char* out, const Header& header) {
    storeLe(out, header.messageBytes);
    storeLe(out + 4, header.requestId);
    storeLe(out + 8, header.responseTo);
    storeLe(out + 12, header.opCode);
}

}  // namespace freshet::wire
