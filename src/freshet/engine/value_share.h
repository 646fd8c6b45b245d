// SPDX-License-Identifier: Apache-2.0
/// ValueShare: a large value that stays where it lies while somebody needs its bytes, without a
/// copy of them.
///
/// Who frees it: the buffer is counted, and goes with its last holder, be that a version, a page's
/// image, a cursor or a share. No epoch is needed for that, since whoever takes a share does so in
/// a slice, through a holder that the slice keeps alive, and since the bytes never change. What
/// becomes of the record meanwhile does not matter: an overwritten, erased or evicted value is
/// without the other holders, and the share's bytes are what they were.
///
/// Its page in the data file: when the last holder of a value that has one goes, the page goes to
/// the next checkpoint that finds it in no image (FreedValues, which any thread may add to). A
/// share can only put that off. When the leaf was evicted, the page is the leaf's and stays. When
/// the tree was dropped, the checkpoint has freed the page with the tree, and freeing it again
/// changes nothing, because a page's number has one owner for ever. A page that a crash leaves
/// behind is freed by open().
///
/// Its memory counts in StoreStats::memoryBytes until it goes, and eviction cannot take it: who
/// holds shares bounds them.
#pragma once

#include "freshet/base/bytes.h"

#include <cstddef>
#include <utility>

namespace freshet::engine {

class ValueBuffer;
struct StoreCore;
struct ValueRef;

/// Move-only. May be used and may end on any thread, after the Txn and the Cursor that gave it, but
/// before the Store: a store that ends earlier ends the process.
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

    /// Of no value.
    bool isEmpty() const { return buffer_ == nullptr; }
    /// REQUIRES: not empty. The whole value.
    ByteView view() const;
    /// One more of the same value, or of none.
    ValueShare another() const;

private:
    friend class Txn;
    friend class Cursor;
    /// REQUIRES: `value` has a buffer, which somebody holds.
    ValueShare(const ValueRef& value, StoreCore* core);
    void drop();

    ValueBuffer* buffer_ = nullptr;
    StoreCore* core_ = nullptr;  // counts the shares that there are
};

/// What Txn::getShared() is asked for and gives.
struct SharedRead {
    size_t shareBytesMin;  // smaller values are not shared
    ByteView bytes{};      // good as long as the slice, or the share if there is one
    ValueShare share{};
};

}  // namespace freshet::engine
