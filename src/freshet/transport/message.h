// SPDX-License-Identifier: Apache-2.0
/// Message and ReplyChain: what a Session takes in and gives out. Whole messages, never bytes of
/// them.
#pragma once

#include "freshet/base/assert.h"
#include "freshet/base/bytes.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace freshet::transport {

/// One whole message (header included), contiguous. Owns its bytes or the claim on them (a slice of
/// a receive buffer or ring that is given back when the Message dies). Move-only; must die on the
/// thread of its session.
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

/// One outgoing message as up to kSegmentsMax pieces, sent in order. A piece is either owned or
/// borrowed with a holder that keeps it alive until it has been sent (pinned page images, later).
class ReplyChain {
public:
    static constexpr size_t kSegmentsMax = 32;
    ReplyChain() = default;
    explicit ReplyChain(std::string bytes) { append(std::move(bytes)); }

    void append(std::string bytes) {
        auto owned = std::make_shared<std::string>(std::move(bytes));
        ByteView view = *owned;
        append(view, std::move(owned));
    }
    void append(ByteView view, std::shared_ptr<const void> holder) {
        invariant(count_ < kSegmentsMax);
        views_[count_] = view;
        holders_[count_] = std::move(holder);
        ++count_;
        bytes_ += view.size();
    }
    size_t segments() const { return count_; }
    ByteView segment(size_t i) const { return views_[i]; }
    size_t bytes() const { return bytes_; }
    bool isEmpty() const { return bytes_ == 0; }

private:
    std::array<ByteView, kSegmentsMax> views_{};
    std::array<std::shared_ptr<const void>, kSegmentsMax> holders_{};
    size_t count_ = 0;
    size_t bytes_ = 0;
};

}  // namespace freshet::transport
