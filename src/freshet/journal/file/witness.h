// SPDX-License-Identifier: Apache-2.0
/// Witness: records in a file of its own how far the log had come, so that a log that ends earlier
/// is known to be damaged. Without it, a log that lost its end looks like one whose last blocks a
/// crash had torn.
///
/// INV-journal-15  A position is stored as durable only after the flush that made it so has
/// returned. The file is never flushed, so the disk may have any earlier position, but never one
/// that the log does not reach.
///
/// Where memory is shared (decision 0026) each word is one store to a mapped page. Elsewhere the
/// durable word is written by a system call after each flush, alternately at two offsets, and the
/// written word is not kept.
#pragma once

#include "freshet/base/status.h"
#include "freshet/journal/file/witness_format.h"
#include "freshet/journal/journal.h"
#include "freshet/sync/atomic.h"

#include <cstdint>
#include <memory>
#include <string>

namespace freshet::journal {

class Witness {
public:
    /// Takes over the file for the blocks of `era`, or makes it. Its content is durable then, its
    /// name not yet. Null, after a log line: that failed. REQUIRES: everything below `durable` is
    /// durable.
    static std::unique_ptr<Witness> make(const Options& options, uint32_t era, Lsn durable);

    /// Everything below `lsn`, a slot's start, is on stable storage. Threads: the one that flushes.
    void noteDurable(Lsn lsn);
    /// Everything below `lsn`, a slot's start, is in segments. Threads: the holder of the writer's
    /// role.
    void noteWritten(Lsn lsn);

private:
    Witness(const WitnessHeader& header, std::unique_ptr<platform::File> file)
        : header_(header), file_(std::move(file)) {}

    const WitnessHeader header_;
    std::unique_ptr<platform::File> file_;  // null: it is mapped, or a write has failed
    bool isTwinNext_ = false;               // the next word in file_ goes to the twin
    std::unique_ptr<platform::SharedBytes> bytes_;
    /// In bytes_, or null. Written by: as noteDurable(), noteWritten(). Read by: the process that
    /// opens the log next.
    sync::Atomic<uint64_t>* durable_ = nullptr;
    sync::Atomic<uint64_t>* written_ = nullptr;
};

/// The content of a witness at open.
struct Testimony {
    std::string path;
    std::string trouble;  // why it cannot be used; empty: it can
    uint32_t era = 0;
    Lsn durable = 0;
    Lsn written = 0;  // 0: unknown
    /// The system under which it was written still runs: its cache has everything that was written.
    bool isOfThisBoot = false;
};

/// kUnsupported: newer format; kIo: cannot be read.
StatusOr<Testimony> readWitness(const Options& options);

}  // namespace freshet::journal
