// SPDX-License-Identifier: Apache-2.0
/// PageBuffer: memory for a page on its way from or to the disk, aligned as direct transfers want
/// it, so that they need no copy. One owner; worth keeping, as what it holds is not cleared.
#pragma once

#include "freshet/block/page_format.h"

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace freshet::block {

class PageBuffer {
public:
    PageBuffer() = default;
    PageBuffer(PageBuffer&& other) noexcept
        : memory_(std::move(other.memory_)), room_(std::exchange(other.room_, 0)) {}
    PageBuffer& operator=(PageBuffer&& other) noexcept {
        memory_ = std::move(other.memory_);
        room_ = std::exchange(other.room_, 0);
        return *this;
    }
    /// Room for so many bytes, rounded up to whole blocks. What was in it is gone.
    char* reset(size_t bytes) {
        const size_t room = blocksOf(bytes) * kBlockBytes;
        if (room > room_) {
            memory_.reset();
            memory_.reset(static_cast<char*>(::operator new(room, kAlignment)));
            room_ = room;
        }
        return memory_.get();
    }
    char* data() { return memory_.get(); }
    /// Bytes of memory that it has.
    size_t room() const { return room_; }
    /// For who keeps it: frees what is more than usual pages need.
    void trim() {
        constexpr size_t kKeptBytesMax = 256u << 10;
        if (room_ > kKeptBytesMax) {
            memory_.reset();
            room_ = 0;
        }
    }

private:
    static constexpr std::align_val_t kAlignment{kBlockBytes};
    struct Free {
        void operator()(char* memory) const { ::operator delete(memory, kAlignment); }
    };
    std::unique_ptr<char, Free> memory_;
    size_t room_ = 0;
};

}  // namespace freshet::block
