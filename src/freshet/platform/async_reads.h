// SPDX-License-Identifier: Apache-2.0
/// AsyncReads: one thread reads many blocks at once, without a thread for each (io_uring). It
/// starts reads and takes those that are over, in the order in which they end; others can wake it.
#pragma once

#include "freshet/base/status.h"
#include "freshet/platform/file.h"
#include "freshet/platform/transfer_memory.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace freshet::platform {

/// Threads: all but wake() on the one that called create().
class AsyncReads {
public:
    struct Read {
        /// By who starts it: whole blocks of 4 KiB, at a multiple of 4 KiB, into memory that begins
        /// at one.
        char* out = nullptr;
        size_t bytes = 0;
        uint64_t offset = 0;
        void* owner = nullptr;  // for who starts it
        /// When it is over: as File::pread(), but that failures name neither file nor place.
        Status status;
        size_t got = 0;

        // AsyncReads' own.
        bool wantsPiece = false;
        TransferPiece piece;  // where the system puts it, if it has one
        int descriptor = -1;
        int refusals = 0;
        Read* next = nullptr;
    };

    /// So many reads are with the system at a time; others wait here. kUnavailable: the system has
    /// no io_uring, or does not let us use it.
    static StatusOr<std::unique_ptr<AsyncReads>> create(unsigned readsAtOnce);
    /// REQUIRES: nothing is under way.
    ~AsyncReads();
    AsyncReads(const AsyncReads&) = delete;
    AsyncReads& operator=(const AsyncReads&) = delete;

    /// `*read` and its memory must stay until it is over. The system may hear of it only in the
    /// next poll() or await(). REQUIRES: file.canReadAsync().
    void start(const File& file, Read* read);
    /// One that is over, or null. Does not wait.
    Read* poll();
    /// The same, and waits for it. Null: woken.
    Read* await();
    /// Lets await() return, this time or, if it does not wait, the next time. Any thread; does not
    /// block.
    void wake();

private:
    struct Impl;
    explicit AsyncReads(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace freshet::platform
