// SPDX-License-Identifier: Apache-2.0
/// RecordJoiner: joins fragments and passes whole records on, in the order of their last fragments.
/// Threads: one.
#pragma once

#include "freshet/journal/file/framing.h"
#include "freshet/journal/journal.h"

#include <string>
#include <unordered_map>

namespace freshet::journal {

class RecordJoiner {
public:
    explicit RecordJoiner(const RecordSink& sink) : sink_(sink) {}

    /// Takes the records of the next block of the log. REQUIRES recordsAreWhole(block, header).
    Status take(ByteView block, const BlockHeader& header);
    /// Blocks are left out before the next one: what began in front of them has no end.
    void forget() { begun_.clear(); }

private:
    Status takeOne(const RecordView& at, const RecordHeader& record);

    const RecordSink& sink_;
    uint32_t era_ = 0;
    /// Bodies begun, by the LSN of their first fragment. Bound: one record per thread that was
    /// appending.
    std::unordered_map<uint64_t, std::string> begun_;
};

}  // namespace freshet::journal
