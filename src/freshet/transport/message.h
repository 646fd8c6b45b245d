// SPDX-License-Identifier: Apache-2.0
/// Message and ReplyChain: what a Session receives and sends. Always whole messages.
#pragma once

#include "freshet/base/assert.h"
#include "freshet/base/bytes.h"
#include "freshet/base/spare_strings.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace freshet::transport {

/// One whole message (header included), contiguous. Owns its bytes, or a claim on them (a slice of
/// a receive buffer or ring, released when the Message dies). Move-only; must die on the thread of
/// its session.
class Message {
public:
    Message() = default;
    explicit Message(std::string bytes)
        : holder_(std::make_shared<std::string>(std::move(bytes))),
          view_(*static_cast<std::string*>(holder_.get())) {}
    /// `holder` keeps `view` valid.
    Message(ByteView view, std::shared_ptr<void> holder)
        : holder_(std::move(holder)), view_(view) {}
    Message(Message&&) noexcept = default;
    Message& operator=(Message&&) noexcept = default;
    ByteView view() const { return view_; }

private:
    std::shared_ptr<void> holder_;
    ByteView view_;
};

/// One outgoing message as up to kSegmentsMax pieces, sent in order. A piece is either owned, or
/// borrowed with a holder that keeps it alive until it has been sent. The usual chain of one piece
/// allocates nothing of its own and is cheap to move.
class ReplyChain {
public:
    static constexpr size_t kSegmentsMax = 32;
    ReplyChain() = default;
    explicit ReplyChain(std::string bytes) { append(std::move(bytes)); }
    ~ReplyChain() { giveSpareString(std::move(firstOwned_)); }
    ReplyChain(ReplyChain&& other) noexcept
        : first_(std::move(other.first_)),
          firstOwned_(std::move(other.firstOwned_)),
          rest_(std::move(other.rest_)),
          count_(std::exchange(other.count_, 0)),
          bytes_(std::exchange(other.bytes_, 0)) {}
    ReplyChain& operator=(ReplyChain&& other) noexcept {
        first_ = std::move(other.first_);
        firstOwned_ = std::move(other.firstOwned_);
        rest_ = std::move(other.rest_);
        count_ = std::exchange(other.count_, 0);
        bytes_ = std::exchange(other.bytes_, 0);
        return *this;
    }

    void append(std::string bytes) {
        if (count_ == 0) {
            bytes_ = bytes.size();
            firstOwned_ = std::move(bytes);
            count_ = 1;
            return;
        }
        auto owned = std::make_shared<std::string>(std::move(bytes));
        ByteView view = *owned;
        append(view, std::move(owned));
    }
    void append(ByteView view, std::shared_ptr<const void> holder) {
        invariant(count_ < kSegmentsMax);
        bytes_ += view.size();
        if (count_++ == 0) {
            first_ = {view, std::move(holder)};
        } else {
            rest_.push_back({view, std::move(holder)});
        }
    }
    size_t segments() const { return count_; }
    /// Valid while the chain is not moved.
    ByteView segment(size_t i) const {
        if (i > 0) {
            return rest_[i - 1].view;
        }
        return first_.holder == nullptr && first_.view.empty() ? ByteView(firstOwned_)
                                                               : first_.view;
    }
    /// What keeps the segment's bytes alive; null when the chain alone does.
    const std::shared_ptr<const void>& holder(size_t i) const {
        return i > 0 ? rest_[i - 1].holder : first_.holder;
    }
    size_t bytes() const { return bytes_; }
    bool isEmpty() const { return bytes_ == 0; }

private:
    struct Piece {
        ByteView view;
        std::shared_ptr<const void> holder;
    };
    Piece first_;             // when it is borrowed
    std::string firstOwned_;  // when it is owned
    std::vector<Piece> rest_;
    size_t count_ = 0;
    size_t bytes_ = 0;
};

}  // namespace freshet::transport
