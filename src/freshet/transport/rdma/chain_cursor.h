// SPDX-License-Identifier: Apache-2.0
/// The unsent rest of a chain. The chain outlives it.
#pragma once

#include "freshet/transport/message.h"

#include <algorithm>
#include <cstring>

namespace freshet::transport::rdma {

class ChainCursor {
public:
    explicit ChainCursor(const ReplyChain& chain) : chain_(chain), left_(chain.bytes()) { skip(); }
    size_t left() const { return left_; }
    /// The next bytes, as far as they are contiguous.
    ByteView front() const {
        return left_ == 0 ? ByteView() : chain_.segment(segment_).substr(offset_);
    }
    /// Whole segments, counted from the one that front() belongs to, and what keeps them alive.
    ByteView ahead(size_t by) const { return chain_.segment(segment_ + by); }
    const std::shared_ptr<const void>& holderAhead(size_t by) const {
        return chain_.holder(segment_ + by);
    }
    /// REQUIRES: bytes <= left().
    void copyTo(char* out, size_t bytes) {
        while (bytes > 0) {
            const size_t now = std::min(bytes, front().size());
            std::memcpy(out, front().data(), now);
            advance(now);
            out += now;
            bytes -= now;
        }
    }
    /// REQUIRES: bytes <= front().size().
    void advance(size_t bytes) {
        offset_ += bytes;
        left_ -= bytes;
        skip();
    }

private:
    void skip() {
        while (left_ > 0 && offset_ == chain_.segment(segment_).size()) {
            ++segment_;
            offset_ = 0;
        }
    }
    const ReplyChain& chain_;
    size_t left_;
    size_t segment_ = 0;
    size_t offset_ = 0;
};

}  // namespace freshet::transport::rdma
