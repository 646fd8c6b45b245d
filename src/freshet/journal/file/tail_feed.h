// SPDX-License-Identifier: Apache-2.0
/// TailFeed: while the log has readers, passes copies of the blocks that are written on to them, so
/// that readers near the tail need not read the disk. The writer never waits here: what exceeds the
/// bound is left out, and readers then find it in the segments.
#pragma once

#include "freshet/journal/file/batch_queue.h"
#include "freshet/journal/file/block_format.h"

#include <memory>
#include <string>
#include <vector>

namespace freshet::journal {

/// A block of the log in memory, whole and checked, and where it lies.
struct LogBlock {
    BlockHeader header{};
    std::string bytes;     // with the header
    uint32_t segment = 0;  // its index
    uint64_t end = 0;      // offset in the segment behind the block
};
using LogBlockRef = std::shared_ptr<const LogBlock>;

class TailFeed {
public:
    explicit TailFeed(uint64_t bytesMax) : bytesMax_(bytesMax) {}

    /// For the reader's side. Blocks that are being written meanwhile may be passed on or not.
    void turn(bool on) { isOn_.store(on, sync::kRelaxed); }  // [tailFeed.on]
    /// For the writer. [tailFeed.on] relaxed: it publishes nothing; a late view of it passes on a
    /// block too many or too few, and both are allowed.
    bool takes(uint32_t bytes) const {
        return isOn_.load(sync::kRelaxed) && bytes_.load(sync::kRelaxed) + bytes <= bytesMax_;
    }
    /// REQUIRES: takes(). The holder of the writer's role, in the order of the log, before it
    /// reports the block as written.
    void give(LogBlockRef block) {
        bytes_.fetch_add(block->bytes.size(), sync::kRelaxed);  // [tailFeed.bytes]
        blocks_.push(std::move(block));
    }
    /// All blocks that the writer has passed on since the last call, among them every one that is
    /// durable.
    std::vector<LogBlockRef> take() {
        std::vector<LogBlockRef> taken = blocks_.takeAll();
        for (const LogBlockRef& block : taken) {
            bytes_.fetch_sub(block->bytes.size(), sync::kRelaxed);  // [tailFeed.bytes]
        }
        return taken;
    }

private:
    const uint64_t bytesMax_;
    BatchQueue<LogBlockRef> blocks_;
    sync::Atomic<bool> isOn_{false};
    /// [tailFeed.bytes] relaxed: bounds memory, publishes nothing.
    sync::Atomic<uint64_t> bytes_{0};
};

}  // namespace freshet::journal
