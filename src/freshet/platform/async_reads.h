// SPDX-License-Identifier: Apache-2.0
/// AsyncReads: one thread reads many blocks at once, without a thread for each read (io_uring). It
/// starts reads and takes finished ones, in the order in which they end; other threads can wake it.
#pragma once

#include "freshet/base/status.h"
#include "freshet/platform/file.h"
#include "freshet/platform/transfer_memory.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace freshet::platform {

/// Threads: everything but wake() on the thread that called create().
class AsyncReads {
public:
    struct Read {
        /// Set by the caller: whole blocks of 4 KiB, at a multiple of 4 KiB, into memory that
        /// begins at one.
        char* out = nullptr;
        size_t bytes = 0;
        uint64_t offset = 0;
        void* owner = nullptr;  // for the caller's use
        /// Set when it is over: as File::pread(), but failures name neither file nor offset.
        Status status;
        size_t got = 0;

        // Private to AsyncReads.
        bool wantsPiece = false;
        TransferPiece piece;  // where the system puts the bytes, if it has one
        int descriptor = -1;
        int refusals = 0;
        Read* next = nullptr;
    };

    /// `readsAtOnce` reads are in the system at a time; others wait here. kUnavailable: the system
    /// has no io_uring, or does not permit it.
    static StatusOr<std::unique_ptr<AsyncReads>> create(unsigned readsAtOnce);
    /// REQUIRES: no read is in flight.
    ~AsyncReads();
    AsyncReads(const AsyncReads&) = delete;
    AsyncReads& operator=(const AsyncReads&) = delete;

    /// `*read` and its memory must stay until it is over. The system may get it only in the next
    /// poll() or await(). REQUIRES: file.canReadAsync().
    void start(const File& file, Read* read);
    /// A read that is over, or null. Does not wait.
    Read* poll();
    /// The same, but waits for it. Null: woken.
    Read* await();
    /// Lets await() return null, now or, if it is not waiting, the next time. Any thread; does not
    /// block.
    void wake();

private:
    struct Impl;
    explicit AsyncReads(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace freshet::platform
