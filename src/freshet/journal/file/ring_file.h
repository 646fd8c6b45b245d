// SPDX-License-Identifier: Apache-2.0
/// RingFile: the ring's memory as a mapped file. A record is in the operating system's hands as
/// soon as it was copied: a killed process loses none of it, and a commit that only has to be
/// written makes no system call. It is not a segment, since pages that a flush has covered are
/// never written again (INV-journal-12), and the ring's are rewritten all the time. It is never
/// flushed: what has to survive the system goes to segments as always.
#pragma once

#include "freshet/journal/file/ring_format.h"
#include "freshet/journal/journal.h"
#include "freshet/journal/slot/slot_ring.h"

#include <memory>

namespace freshet::journal {

/// The header of such a ring's file, with its checksum.
RingHeader ringHeader(const Options& options, uint32_t era);
/// The right checksum for this header.
uint32_t checksumOf(const RingHeader& header);

class RingFile {
public:
    /// Takes over the file for the blocks of `era`, or makes it. Null: the file system does not
    /// share memory, or, after a log line, something failed; the ring is then in the process' own
    /// memory, and records that have to be written are written to segments at once. REQUIRES: the
    /// first block of the era is durable, so that the file's old content is no longer needed.
    static std::unique_ptr<RingFile> make(const Options& options, uint32_t era);
    RingMemory memory() const { return memory_; }

private:
    RingFile(std::unique_ptr<platform::SharedBytes> bytes, const RingMemory& memory)
        : bytes_(std::move(bytes)), memory_(memory) {}

    const std::unique_ptr<platform::SharedBytes> bytes_;
    const RingMemory memory_;
};

}  // namespace freshet::journal
