// SPDX-License-Identifier: Apache-2.0
/// Memory of a ring, mapped twice in a row, so that every range in the ring is contiguous to its
/// reader.
#pragma once

#include "freshet/base/status.h"

#include <cstddef>
#include <memory>

namespace freshet::transport::rdma {

class RingMemory {
public:
    /// `bytes` is a multiple of the page size. kIo when the system refuses.
    static StatusOr<std::shared_ptr<RingMemory>> create(size_t bytes);
    ~RingMemory();
    RingMemory(const RingMemory&) = delete;
    RingMemory& operator=(const RingMemory&) = delete;

    /// data()[i] and data()[i + bytes()] are the same byte.
    char* data() const { return data_; }
    size_t bytes() const { return bytes_; }

private:
    RingMemory(char* data, size_t bytes) : data_(data), bytes_(bytes) {}
    char* const data_;
    const size_t bytes_;
};

}  // namespace freshet::transport::rdma
