// SPDX-License-Identifier: Apache-2.0
/// PageBuffer: memory for a page on its way from or to the disk, aligned for direct transfers, so
/// that they need no copy. One owner; worth keeping, since its content is not cleared.
#pragma once

#include "freshet/block/page_format.h"
#include "freshet/platform/page_memory.h"

#include <cstddef>
#include <utility>

namespace freshet::block {

class PageBuffer {
public:
    PageBuffer() = default;
    ~PageBuffer() { drop(); }
    PageBuffer(PageBuffer&& other) noexcept
        : memory_(std::exchange(other.memory_, nullptr)), room_(std::exchange(other.room_, 0)) {}
    PageBuffer& operator=(PageBuffer&& other) noexcept {
        std::swap(memory_, other.memory_);
        std::swap(room_, other.room_);
        return *this;
    }
    PageBuffer(const PageBuffer&) = delete;
    PageBuffer& operator=(const PageBuffer&) = delete;
    /// Memory for `bytes` bytes, rounded up to whole blocks. The old content is lost.
    char* reset(size_t bytes) {
        const size_t room = blocksOf(bytes) * kBlockBytes;
        if (room > room_) {
            drop();
            memory_ = platform::takePageMemory(room);
            room_ = room;
        }
        return memory_;
    }
    char* data() { return memory_; }
    /// Bytes of memory that it holds.
    size_t room() const { return room_; }
    /// For an owner that keeps the buffer: frees it if it is larger than usual pages need.
    void trim() {
        constexpr size_t kKeptBytesMax = 256u << 10;
        if (room_ > kKeptBytesMax) {
            drop();
        }
    }

private:
    static_assert(kBlockBytes % platform::kPageMemoryUnit == 0);
    void drop() {
        if (room_ != 0) {
            platform::freePageMemory(std::exchange(memory_, nullptr), std::exchange(room_, 0));
        }
    }

    char* memory_ = nullptr;
    size_t room_ = 0;
};

}  // namespace freshet::block
