// SPDX-License-Identifier: Apache-2.0
/// BatchWrites: gives the system many writes at once and waits once, for all of them (io_uring).
/// Where io_uring is not available, writes one after the other.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/base/status.h"
#include "freshet/platform/file.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace freshet::platform {

/// Threads: any, one call at a time.
class BatchWrites {
public:
    struct Write {
        /// Whole blocks of 4 KiB, to a multiple of 4 KiB, in memory that begins at one.
        ByteView data;
        uint64_t offset = 0;
    };

    BatchWrites();
    ~BatchWrites();
    BatchWrites(const BatchWrites&) = delete;
    BatchWrites& operator=(const BatchWrites&) = delete;

    /// As File::pwrite() of each, in any order. Returns the first failure; any of the other writes
    /// may have happened then. None is in flight any more.
    Status write(File& file, std::span<const Write> writes);

private:
    struct Ring;
    /// The writes that firstOf() selects, out of one piece of memory.
    Status writeTogether(File& file, std::span<const Write> writes);
    Status writeSome(File& file, std::span<const Write> writes);
    /// False: nothing has been written. `*rest`: what has to be written in another way.
    bool writeByRing(int descriptor,
                     std::span<const Write> writes,
                     std::vector<const Write*>* rest);

    std::unique_ptr<Ring> ring_;  // null: no batch so far
};

}  // namespace freshet::platform
