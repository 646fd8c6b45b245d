// SPDX-License-Identifier: Apache-2.0
/// MessageCutter: cuts a byte stream into messages and decides where the next bytes are read to.
/// While no message is cut it owns no buffer. Memory follows what has arrived and not what was
/// announced (INV-transport-4); where a pool counts it, a long message first gets room for the
/// whole of itself. One thread.
#pragma once

#include "freshet/base/status.h"
#include "freshet/sync/memory_pool.h"
#include "freshet/transport/message.h"
#include "freshet/wire/frame.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace freshet::transport {

/// Bytes that messages are views of; freed with the last message and the cutter's own claim.
struct Block {
    explicit Block(size_t capacityIn)
        : bytes(std::make_unique_for_overwrite<char[]>(capacityIn)), capacity(capacityIn) {}
    std::unique_ptr<char[]> bytes;
    size_t capacity;
    sync::MemoryHold hold;  // of a long message
};

/// Small blocks for reuse, so that a small message costs no allocation.
class BlockPool {
public:
    static constexpr size_t kSmallBytes = 4096;
    static constexpr size_t kKeptMax = 64;
    /// A block of at least `bytes`.
    std::shared_ptr<Block> take(size_t bytes);
    /// Keeps the block when it is small and nothing else refers to it.
    void give(std::shared_ptr<Block> block);

    /// Longer messages wait for MessageCutter::admit().
    size_t freeBytesMax = SIZE_MAX;
    /// What sessions with a smaller limit may together hold for incomplete messages.
    size_t limitedBytesMax = SIZE_MAX;
    size_t limitedBytes() const { return limitedBytes_; }
    void noteLimited(size_t was, size_t is) { limitedBytes_ += is - was; }

private:
    std::vector<std::shared_ptr<Block>> kept_;
    size_t limitedBytes_ = 0;
};

class MessageCutter {
public:
    explicit MessageCutter(BlockPool& pool) : pool_(pool) {}
    ~MessageCutter();
    MessageCutter(const MessageCutter&) = delete;
    MessageCutter& operator=(const MessageCutter&) = delete;

    /// Longer messages are refused from now on. A limit below wire::kMessageBytesMax makes the
    /// session one of those that share the pool's budget.
    void setMessageBytesMax(size_t bytes);
    /// Takes the next whole message. False: more bytes are needed. kInvalid (kProtocolError): a
    /// length outside the limits; kLimit: the budget of limited sessions is used up. After an error
    /// the stream is unusable.
    StatusOr<bool> next(Message* out);
    /// After next() has returned false: so many bytes, the whole of a message, have to be admitted
    /// before more is read. 0: none.
    size_t wantsRoom() const { return wantsRoom_; }
    /// REQUIRES: wantsRoom() > 0. `hold` lives as long as the message.
    void admit(sync::MemoryHold hold);
    /// The bytes that have come and were not handed out. Valid until the next call.
    ByteView pending() const {
        return block_ == nullptr ? ByteView()
                                 : ByteView(block_->bytes.get() + begin_, end_ - begin_);
    }
    /// Takes all of them: they are no message.
    std::string takePending();
    /// Where to read to: `scratch` when no message is cut, else room behind the cut one.
    std::span<char> target(std::span<char> scratch);
    /// `bytes` bytes were read to `at`, the start of the last target.
    void arrived(const char* at, size_t bytes);
    bool isMidMessage() const { return begin_ != end_; }
    bool ownsBuffer() const { return block_ != nullptr; }
    /// Bytes set aside for a cut message.
    size_t capacity() const { return block_ == nullptr ? 0 : block_->capacity; }

private:
    /// A new block gets at most this many times what has arrived.
    static constexpr size_t kGrowth = 4;
    void makeRoom();
    void move(std::shared_ptr<Block> roomier);
    void setBlock(std::shared_ptr<Block> block);

    BlockPool& pool_;
    std::shared_ptr<Block> block_;
    size_t begin_ = 0;  // block_'s bytes [begin_, end_) are not handed out yet
    size_t end_ = 0;
    size_t messageBytesMax_ = wire::kMessageBytesMax;
    size_t noted_ = 0;  // of the pool's limited bytes
    size_t wantsRoom_ = 0;
    bool isAdmitted_ = false;  // block_ belongs to an admitted message
};

}  // namespace freshet::transport
