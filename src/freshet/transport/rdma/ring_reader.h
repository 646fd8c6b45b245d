// SPDX-License-Identifier: Apache-2.0
/// RingReader: cuts what the peer has written into our ring into messages. Where allowed, it hands
/// out views of the ring itself. Messages of untrusted peers are copied: a peer can write to its
/// ring at any time, so also after a message was checked.
#pragma once

#include "freshet/transport/message.h"
#include "freshet/transport/rdma/credits.h"
#include "freshet/transport/rdma/link_counters.h"
#include "freshet/transport/rdma/ring_memory.h"
#include "freshet/transport/session/message_cutter.h"

#include <cstdint>
#include <memory>

namespace freshet::transport::rdma {

class RingReader {
public:
    RingReader(std::shared_ptr<RingMemory> memory,
               Layout layout,
               BlockPool& blocks,
               LinkCounters& counters);

    /// Longer messages are refused; a limit below the protocol's maximum means copies.
    void setMessageBytesMax(size_t bytes);
    /// Hands out views of the ring, for a caller that drops each message before it asks for the
    /// next: a kept message would block the ring.
    void setInPlace(bool inPlace) { mayBeInPlace_ = inPlace; }
    /// Takes the next whole message. False: more bytes are needed. Errors as of MessageCutter.
    StatusOr<bool> next(Message* out);
    /// See MessageCutter.
    size_t wantsRoom() const { return cutter_.wantsRoom(); }
    void admit(sync::MemoryHold hold) { cutter_.admit(std::move(hold)); }
    /// Bytes allocated in addition to the ring.
    size_t capacity() const { return cutter_.capacity(); }
    bool isCut() const { return cutter_.isMidMessage(); }
    uint64_t bytesRead() const { return tail_; }
    /// Takes exactly `bytes` bytes, from the start of the stream. False: they have not come.
    bool takeRaw(char* out, size_t bytes);
    bool isMidMessage() const { return cutter_.isMidMessage() || available() > 0; }
    ReceiveCredits& credits() { return state_->credits; }

private:
    /// What a message in the ring keeps alive, if need be longer than the link.
    struct State {
        State(std::shared_ptr<RingMemory> memoryIn, Layout layout)
            : memory(std::move(memoryIn)), credits(memory->bytes(), layout) {}
        std::shared_ptr<RingMemory> memory;
        ReceiveCredits credits;
        size_t held = 0;    // bytes of the message that was handed out; 0: none was
        size_t behind = 0;  // read after it: released together with it
        void consume(size_t bytes);
        void release();
    };
    struct Slice;

    size_t available() const { return state_->credits.head() - tail_; }
    ByteView unread() const;
    bool isInPlace() const;
    /// `bytes` more were read.
    void advance(size_t bytes);
    /// Moves bytes from the ring to the cutter. False: there were none.
    bool feedCutter();
    /// How many bytes of the message being collected are missing.
    size_t missing() const;
    StatusOr<bool> nextInPlace(Message* out);

    std::shared_ptr<State> state_;
    LinkCounters& counters_;
    MessageCutter cutter_;
    size_t messageBytesMax_ = wire::kMessageBytesMax;
    uint64_t tail_ = 0;  // bytes read in all
    bool mayBeInPlace_ = false;
};

}  // namespace freshet::transport::rdma
