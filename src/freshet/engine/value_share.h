// SPDX-License-Identifier: Apache-2.0
/// ValueShare: keeps a large value in place, without a copy, as long as its bytes are needed.
///
/// Freeing: the buffer is reference-counted and freed by its last holder: a version, a page's
/// image, a cursor or a share. This needs no epoch: a share is taken inside a slice, through a
/// holder that the slice keeps alive, and the bytes never change. It does not matter what happens
/// to the record meanwhile: overwriting, erasing or evicting it only removes the other holders.
///
/// Its page in the data file: when the last holder of a value that has a page ends, the page is
/// passed to the next checkpoint that finds it in no image (FreedValues, which any thread may add
/// to). A share can only delay that. If the leaf was evicted, the page belongs to the leaf and
/// stays. If the tree was dropped, the checkpoint has freed the page with the tree; freeing it
/// again changes nothing, because a page's number is never reused. If a crash leaves the page
/// behind, open() frees it.
///
/// Its memory counts in StoreStats::memoryBytes until it is freed, and eviction cannot free it:
/// code that holds shares must bound them.
#pragma once

#include "freshet/base/bytes.h"

#include <cstddef>
#include <utility>

namespace freshet::engine {

class ValueBuffer;
struct StoreCore;
struct ValueRef;

/// Move-only. May be used and destroyed on any thread, also after the Txn and the Cursor that gave
/// it, but before the Store: closing the store while a share exists ends the process.
class ValueShare {
public:
    ValueShare() = default;
    ValueShare(ValueShare&& other) noexcept
        : buffer_(std::exchange(other.buffer_, nullptr)), core_(other.core_) {}
    ValueShare& operator=(ValueShare&& other) noexcept {
        ValueShare old(std::move(*this));
        buffer_ = std::exchange(other.buffer_, nullptr);
        core_ = other.core_;
        return *this;
    }
    ~ValueShare() {
        if (buffer_ != nullptr) {
            drop();
        }
    }

    /// Whether it shares no value.
    bool isEmpty() const { return buffer_ == nullptr; }
    /// The whole value. REQUIRES: not empty.
    ByteView view() const;
    /// Another share of the same value; empty if this one is.
    ValueShare another() const;

private:
    friend class Txn;
    friend class Cursor;
    /// REQUIRES: `value` has a buffer that is held by someone else during the call.
    ValueShare(const ValueRef& value, StoreCore* core);
    void drop();

    ValueBuffer* buffer_ = nullptr;
    StoreCore* core_ = nullptr;  // counts the existing shares
};

/// Argument and result of Txn::getShared().
struct SharedRead {
    size_t shareBytesMin;  // smaller values are not shared
    ByteView bytes{};      // valid as long as the slice, or as the share if there is one
    ValueShare share{};
};

}  // namespace freshet::engine
