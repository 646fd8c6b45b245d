// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/rdma/ring_reader.h"

#include "freshet/wire/frame.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace freshet::transport::rdma {

/// A message's claim on its part of the ring.
struct RingReader::Slice {
    explicit Slice(std::shared_ptr<State> stateIn) : state(std::move(stateIn)) {}
    Slice(const Slice&) = delete;
    Slice& operator=(const Slice&) = delete;
    ~Slice() { state->release(); }
    std::shared_ptr<State> state;
};

/// The ring is released in order.
void RingReader::State::consume(size_t bytes) {
    if (held > 0) {
        behind += bytes;
    } else {
        credits.consumed(bytes);
    }
}

void RingReader::State::release() {
    credits.consumed(std::exchange(held, 0) + std::exchange(behind, 0));
}

RingReader::RingReader(std::shared_ptr<RingMemory> memory,
                       Layout layout,
                       BlockPool& blocks,
                       LinkCounters& counters)
    : state_(std::make_shared<State>(std::move(memory), layout)),
      counters_(counters),
      cutter_(blocks) {}

void RingReader::setMessageBytesMax(size_t bytes) {
    messageBytesMax_ = bytes;
    cutter_.setMessageBytesMax(bytes);
}

ByteView RingReader::unread() const {
    const RingMemory& memory = *state_->memory;
    return {memory.data() + tail_ % memory.bytes(), available()};
}

/// Not for untrusted peers (see the header); not while a message is handed out, because the ring
/// cannot be released then.
bool RingReader::isInPlace() const {
    return mayBeInPlace_ && messageBytesMax_ >= wire::kMessageBytesMax && state_->held == 0;
}

bool RingReader::takeRaw(char* out, size_t bytes) {
    if (available() < bytes) {
        return false;
    }
    std::memcpy(out, unread().data(), bytes);
    state_->consume(bytes);
    advance(bytes);
    return true;
}

void RingReader::advance(size_t bytes) {
    tail_ += bytes;
    if (available() == 0) {
        const size_t rest = state_->credits.skipRest();
        tail_ += rest;
        state_->consume(rest);
    }
}

StatusOr<bool> RingReader::next(Message* out) {
    while (true) {
        if (isInPlace() && !cutter_.isMidMessage()) {
            FRESHET_ASSIGN_OR_RETURN(bool found, nextInPlace(out));
            if (found || !cutter_.isMidMessage()) {
                return found;
            }
        }
        FRESHET_ASSIGN_OR_RETURN(bool found, cutter_.next(out));
        if (found) {
            return true;
        }
        if (cutter_.wantsRoom() > 0 || !feedCutter()) {
            return false;
        }
    }
}

/// A message that does not fit beside other contents of the ring is collected outside of it: the
/// peer could not send its end before we release its beginning. With one slot, that is every
/// incomplete message.
StatusOr<bool> RingReader::nextInPlace(Message* out) {
    const ByteView bytes = unread();
    if (bytes.size() < wire::kHeaderBytes) {
        return false;
    }
    FRESHET_ASSIGN_OR_RETURN(wire::Header header, wire::parseHeader(bytes));
    const auto length = static_cast<size_t>(header.messageBytes);
    if (length > bytes.size()) {
        if (length > state_->memory->bytes() / 2 || state_->credits.layout() == Layout::kOneSlot) {
            feedCutter();
        }
        return false;
    }
    state_->held = length;
    advance(length);
    counters_.inPlaceBytes.add(length);
    *out = Message(bytes.substr(0, length), std::make_shared<Slice>(state_));
    return true;
}

size_t RingReader::missing() const {
    const ByteView have = cutter_.pending();
    if (have.size() < wire::kHeaderBytes) {
        return wire::kHeaderBytes - have.size();
    }
    // The cutter has checked it.
    return static_cast<size_t>(loadLe<int32_t>(have.data())) - have.size();
}

bool RingReader::feedCutter() {
    constexpr size_t kOnceBytes = 64 * 1024;  // so that little is allocated before a length is
                                              // checked
    const ByteView bytes = unread();
    if (bytes.empty()) {
        return false;
    }
    // What follows a collected message can be read in place again.
    const size_t wanted = mayBeInPlace_ && cutter_.isMidMessage() ? missing() : bytes.size();
    // An empty cutter uses the ring itself as its scratch buffer. One target per call, because the
    // cutter must look at what has come before it makes more room.
    const std::span<char> room = cutter_.target({const_cast<char*>(bytes.data()), bytes.size()});
    const size_t now = std::min({room.size(), bytes.size(), wanted, kOnceBytes});
    if (room.data() != bytes.data()) {
        std::memcpy(room.data(), bytes.data(), now);
    }
    cutter_.arrived(room.data(), now);
    counters_.copiedInBytes.add(now);
    state_->consume(now);
    advance(now);
    return true;
}

}  // namespace freshet::transport::rdma
