// SPDX-License-Identifier: Apache-2.0
/// RingFile: the ring's memory as a file that is mapped. What was appended is then in the operating
/// system's hands as soon as it was copied: a process that is killed loses none of it, and a commit
/// that only has to be written makes no system call. A file and not a segment, since pages that a
/// flush has seen are never written again (INV-journal-12), and a ring's are all the time. It is
/// never flushed: what has to outlive the system goes to segments, as ever.
#pragma once

#include "freshet/journal/file/ring_format.h"
#include "freshet/journal/journal.h"
#include "freshet/journal/slot/slot_ring.h"

#include <memory>

namespace freshet::journal {

/// What the file of such a ring begins with, checksum and all.
RingHeader ringHeader(const Options& options, uint32_t era);
/// What a header's own checksum has to be.
uint32_t checksumOf(const RingHeader& header);

class RingFile {
public:
    /// Takes the file for the blocks of `era`, or makes it. Null: the file system does not share
    /// memory, or, after a log line, something failed; the ring lies in the process' memory then,
    /// and what only has to be written is written to segments at once. REQUIRES: the first block of
    /// the era is durable, so that nobody needs any more what the file held.
    static std::unique_ptr<RingFile> make(const Options& options, uint32_t era);
    RingMemory memory() const { return memory_; }

private:
    RingFile(std::unique_ptr<platform::SharedBytes> bytes, const RingMemory& memory)
        : bytes_(std::move(bytes)), memory_(memory) {}

    const std::unique_ptr<platform::SharedBytes> bytes_;
    const RingMemory memory_;
};

}  // namespace freshet::journal
