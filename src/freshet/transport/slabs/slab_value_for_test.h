// SPDX-License-Identifier: Apache-2.0
/// Values in slabs, as an engine has them, for tests of sessions that send them.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/platform/slabs.h"
#include "freshet/transport/message.h"

#include <cstring>
#include <memory>
#include <string>
#include <utility>

namespace freshet::transport {

/// When the last owner drops it, its memory is reused and overwritten at once.
struct SlabValue {
    static SlabValue make(platform::Slabs& slabs, ByteView bytes) {
        const size_t size = bytes.size();
        auto* memory = static_cast<char*>(slabs.allocate(size));
        bytes.copy(memory, size);
        return {{memory, size}, {memory, [&slabs, size](void* place) {
                                     std::memset(place, 0xEE, size);
                                     slabs.release(place, size);
                                 }}};
    }
    ByteView bytes;
    std::shared_ptr<const void> holder;
};

/// The message; `size` bytes of it, from `begin` on, lie in a slab.
inline ReplyChain chainWithValue(platform::Slabs& slabs,
                                 const std::string& message,
                                 size_t begin,
                                 size_t size) {
    ReplyChain out(message.substr(0, begin));
    SlabValue value = SlabValue::make(slabs, ByteView(message).substr(begin, size));
    out.append(value.bytes, std::move(value.holder));
    out.append(message.substr(begin + size));
    return out;
}

}  // namespace freshet::transport
