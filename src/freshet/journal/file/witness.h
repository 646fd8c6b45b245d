// SPDX-License-Identifier: Apache-2.0
/// Witness: says in a file of its own how far the log had come, so that a log that ends earlier is
/// known to be damaged. Without it, a log that lost its end looks like one whose last blocks a
/// crash had torn.
///
/// INV-journal-15  A position is stored as durable only after the flush that made it so has
/// returned. Nobody flushes the file, so the disk may have any earlier position of it, but never
/// one that the log does not reach.
///
/// Where memory is shared (decision 0026) each word is one store to a mapped page. Elsewhere the
/// durable one is written by a system call after each flush, in two places by turns, and the
/// written one is not kept.
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
    /// Takes the file for the blocks of `era`, or makes it; its content is durable then, its name
    /// not yet. Null, after a log line: that failed. REQUIRES: all below `durable` is durable.
    static std::unique_ptr<Witness> make(const Options& options, uint32_t era, Lsn durable);

    /// All below `lsn`, a slot's start, is on stable storage. Threads: the one that flushes.
    void noteDurable(Lsn lsn);
    /// All below `lsn`, a slot's start, is in segments. Threads: whoever holds the writer's role.
    void noteWritten(Lsn lsn);

private:
    Witness(const WitnessHeader& header, std::unique_ptr<platform::File> file)
        : header_(header), file_(std::move(file)) {}

    const WitnessHeader header_;
    std::unique_ptr<platform::File> file_;  // null: it is mapped, or a write has failed
    bool isTwinNext_ = false;               // where the next word goes in file_
    std::unique_ptr<platform::SharedBytes> bytes_;
    /// In bytes_, or null. Written by: as noteDurable(), noteWritten(). Read by: the process that
    /// opens the log next.
    sync::Atomic<uint64_t>* durable_ = nullptr;
    sync::Atomic<uint64_t>* written_ = nullptr;
};

/// What a witness says at open.
struct Testimony {
    std::string path;
    std::string trouble;  // why it says nothing; empty: it does
    uint32_t era = 0;
    Lsn durable = 0;
    Lsn written = 0;  // 0: unknown
    /// The system that it was written under still runs: its cache has all that was written.
    bool isOfThisBoot = false;
};

/// kUnsupported: of a newer format; kIo: cannot be read.
StatusOr<Testimony> readWitness(const Options& options);

}  // namespace freshet::journal
