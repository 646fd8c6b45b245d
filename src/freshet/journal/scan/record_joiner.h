// SPDX-License-Identifier: Apache-2.0
/// RecordJoiner: joins fragments to whole records, in the order of their last fragments. Threads:
/// one.
#pragma once

#include "freshet/journal/file/framing.h"
#include "freshet/journal/journal.h"

#include <string>
#include <unordered_map>

namespace freshet::journal {

class RecordJoiner {
public:
    enum class Result : uint8_t {
        kWhole,    // *whole is set; its view is valid until the next call
        kNothing,  // the journal's own, or not the last fragment
        kOrphan    // a last fragment whose first one is in front of the place where reading began
    };

    /// Takes the next record or fragment of the log, from the block with this header.
    Result add(const BlockHeader& header, const RecordPart& part, RecordView* whole);
    /// Takes all of the next block and passes whole records to `sink`, until that fails. REQUIRES
    /// recordsAreWhole(block, header).
    Status take(ByteView block, const BlockHeader& header, const RecordSink& sink);
    /// Blocks are left out before the next one: what began in front of them has no end.
    void forget() { begun_.clear(); }
    /// The lowest LSN of a first fragment whose record is not whole yet; UINT64_MAX: none.
    Lsn oldestBegun() const;

private:
    uint32_t era_ = 0;
    /// Bodies begun, by the LSN of their first fragment. Bound: one record per thread that was
    /// appending.
    std::unordered_map<uint64_t, std::string> begun_;
    std::string joined_;  // the body of the last record that was joined
};

}  // namespace freshet::journal
