// SPDX-License-Identifier: Apache-2.0
#include "freshet/transport/session/message_cutter.h"

#include "freshet/wire/frame.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace freshet::transport {

std::shared_ptr<Block> BlockPool::take(size_t bytes) {
    if (bytes > kSmallBytes) {
        return std::make_shared<Block>(bytes);
    }
    if (kept_.empty()) {
        return std::make_shared<Block>(kSmallBytes);
    }
    std::shared_ptr<Block> block = std::move(kept_.back());
    kept_.pop_back();
    return block;
}

void BlockPool::give(std::shared_ptr<Block> block) {
    if (block != nullptr && block->capacity == kSmallBytes && block.use_count() == 1 &&
        kept_.size() < kKeptMax) {
        kept_.push_back(std::move(block));
    }
}

MessageCutter::~MessageCutter() {
    setBlock(nullptr);
}

void MessageCutter::setMessageBytesMax(size_t bytes) {
    if (bytes == messageBytesMax_) {
        return;
    }
    messageBytesMax_ = bytes;
    setBlock(std::move(block_));
}

/// Every change of the block goes through here, so that the pool knows what limited sessions hold.
void MessageCutter::setBlock(std::shared_ptr<Block> block) {
    const bool isLimited = messageBytesMax_ < wire::kMessageBytesMax;
    const size_t bytes = isLimited && block != nullptr ? block->capacity : 0;
    if (bytes != noted_) {
        pool_.noteLimited(noted_, bytes);
        noted_ = bytes;
    }
    block_ = std::move(block);
}

StatusOr<bool> MessageCutter::next(Message* out) {
    const size_t have = end_ - begin_;
    if (have == 0) {
        pool_.give(std::move(block_));
        setBlock(nullptr);
        begin_ = end_ = 0;
        return false;
    }
    const ByteView bytes = pending();
    size_t length = wire::kHeaderBytes;
    if (have >= wire::kHeaderBytes) {
        FRESHET_ASSIGN_OR_RETURN(wire::Header header, wire::parseHeader(bytes));
        length = static_cast<size_t>(header.messageBytes);
        if (length > messageBytesMax_) {
            return invalid(Reason::kProtocolError,
                           "A message of " + std::to_string(length) + " bytes where " +
                               std::to_string(messageBytesMax_) + " are allowed, before login");
        }
    }
    if (have < length) {
        if (noted_ > 0 && pool_.limitedBytes() > pool_.limitedBytesMax) {
            return Status(Code::kLimit, "Connections that have not logged in hold too much memory");
        }
        wantsRoom_ = length > pool_.freeBytesMax && !isAdmitted_ ? length : 0;
        return false;
    }
    *out = Message(bytes.substr(0, length), block_);
    begin_ += length;
    if (std::exchange(isAdmitted_, false)) {  // the block is its own, and is freed with it
        setBlock(nullptr);
        begin_ = end_ = 0;
    }
    return true;
}

std::string MessageCutter::takePending() {
    std::string out(pending());
    pool_.give(std::move(block_));
    setBlock(nullptr);
    begin_ = end_ = 0;
    return out;
}

std::span<char> MessageCutter::target(std::span<char> scratch) {
    if (!isMidMessage()) {
        return scratch;
    }
    makeRoom();
    return {block_->bytes.get() + end_, block_->capacity - end_};
}

void MessageCutter::admit(sync::MemoryHold hold) {
    auto whole = std::make_shared<Block>(std::exchange(wantsRoom_, 0));
    whole->hold = std::move(hold);
    move(std::move(whole));
    isAdmitted_ = true;
}

/// Moves what has arrived to the start of another block.
void MessageCutter::move(std::shared_ptr<Block> roomier) {
    const size_t have = end_ - begin_;
    std::memcpy(roomier->bytes.get(), block_->bytes.get() + begin_, have);
    pool_.give(std::move(block_));
    setBlock(std::move(roomier));
    begin_ = 0;
    end_ = have;
}

void MessageCutter::makeRoom() {
    invariant(wantsRoom_ == 0);  // else admit() moves it
    if (begin_ == 0 && end_ < block_->capacity) {
        return;
    }
    const size_t have = end_ - begin_;
    size_t want = BlockPool::kSmallBytes;
    if (have >= wire::kHeaderBytes) {
        // next() has checked the length and found the message incomplete, so want > have.
        const auto length = static_cast<size_t>(loadLe<int32_t>(block_->bytes.get() + begin_));
        want = std::min(length, std::max(want, kGrowth * have));
    }
    move(pool_.take(want));
}

void MessageCutter::arrived(const char* at, size_t bytes) {
    if (block_ != nullptr && at == block_->bytes.get() + end_) {
        invariant(bytes <= block_->capacity - end_);
        end_ += bytes;
        return;
    }
    invariant(!isMidMessage());
    setBlock(pool_.take(bytes));
    std::memcpy(block_->bytes.get(), at, bytes);
    begin_ = 0;
    end_ = bytes;
}

}  // namespace freshet::transport
