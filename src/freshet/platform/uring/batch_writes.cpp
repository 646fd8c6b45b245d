// SPDX-License-Identifier: Apache-2.0
#include "freshet/platform/batch_writes.h"

#include "freshet/base/assert.h"
#include "freshet/platform/transfer_memory.h"
#include "freshet/platform/uring/open_ring.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

namespace freshet::platform {
namespace {

/// With more, a write is hardly cheaper, and readers have to wait behind them.
constexpr size_t kAtOnceMax = 64;

using Write = BatchWrites::Write;

/// Writes that the system has not done, or not fully.
using Rest = std::vector<const Write*>;

size_t bytesOf(std::span<const Write> writes) {
    return std::accumulate(
        writes.begin(), writes.end(), size_t{0}, [](size_t bytes, const Write& write) {
            return bytes + write.data.size();
        });
}

/// The writes submitted at once: up to the bytes of a piece, unless the first has more.
std::span<const Write> firstOf(std::span<const Write> writes) {
    size_t count = 1;
    for (size_t bytes = writes[0].data.size(); count < std::min(writes.size(), kAtOnceMax);
         ++count) {
        bytes += writes[count].data.size();
        if (bytes > kTransferBytesMax) {
            break;
        }
    }
    return writes.first(count);
}

/// The same writes out of `memory`; contiguous ones are merged.
std::vector<Write> gather(std::span<const Write> writes, char* memory) {
    std::vector<Write> gathered;
    for (const Write& write : writes) {
        std::memcpy(memory, write.data.data(), write.data.size());
        if (!gathered.empty() &&
            gathered.back().offset + gathered.back().data.size() == write.offset) {
            Write& before = gathered.back();
            before.data = {before.data.data(), before.data.size() + write.data.size()};
        } else {
            gathered.push_back({{memory, write.data.size()}, write.offset});
        }
        memory += write.data.size();
    }
    return gathered;
}

}  // namespace

struct BatchWrites::Ring {
    Ring() : isOpen(openRing(kAtOnceMax, &ring) == 0) {}
    ~Ring() {
        if (isOpen) {
            io_uring_queue_exit(&ring);
        }
    }
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    /// False: the ring is another thread's, and nothing has been written.
    bool run(int descriptor, std::span<const Write> writes, Rest* rest);
    /// Takes the available results. Returns how many.
    size_t take(Rest* rest);

    io_uring ring{};
    const bool isOpen;
};

bool BatchWrites::Ring::run(int descriptor, std::span<const Write> writes, Rest* rest) {
    for (const Write& write : writes) {
        io_uring_sqe* entry = io_uring_get_sqe(&ring);
        invariant(entry != nullptr);
        io_uring_prep_write(entry,
                            descriptor,
                            write.data.data(),
                            static_cast<unsigned>(write.data.size()),
                            write.offset);
        io_uring_sqe_set_data(entry, const_cast<Write*>(&write));
    }
    for (size_t left = writes.size(); left > 0; left -= take(rest)) {
        const int result = enterRing(&ring, static_cast<unsigned>(left));
        if (result == -EEXIST && left == writes.size()) {
            return false;
        }
        // After any other failure the kernel might still use memory that we do not know of.
        invariant(result >= 0);
    }
    return true;
}

size_t BatchWrites::Ring::take(Rest* rest) {
    size_t taken = 0;
    io_uring_cqe* entry = nullptr;
    for (; io_uring_peek_cqe(&ring, &entry) == 0; ++taken) {
        const auto* write = static_cast<const Write*>(io_uring_cqe_get_data(entry));
        if (entry->res < 0 || static_cast<size_t>(entry->res) != write->data.size()) {
            rest->push_back(write);
        }
        io_uring_cqe_seen(&ring, entry);
    }
    return taken;
}

BatchWrites::BatchWrites() = default;
BatchWrites::~BatchWrites() = default;

Status BatchWrites::write(File& file, std::span<const Write> writes) {
    while (!writes.empty()) {
        const std::span<const Write> some = firstOf(writes);
        FRESHET_RETURN_IF_ERROR(file.bypassesCache() ? writeTogether(file, some)
                                                     : writeSome(file, some));
        writes = writes.subspan(some.size());
    }
    return Status::ok();
}

Status BatchWrites::writeTogether(File& file, std::span<const Write> writes) {
    const TransferPiece piece(bytesOf(writes));
    if (piece.data() == nullptr) {
        return writeSome(file, writes);
    }
    const std::vector<Write> together = gather(writes, piece.data());
    return writeSome(file, together);
}

Status BatchWrites::writeSome(File& file, std::span<const Write> writes) {
    Rest rest;
    if (writes.size() == 1 || file.blockDescriptor() < 0 ||
        !writeByRing(file.blockDescriptor(), writes, &rest)) {
        std::transform(writes.begin(), writes.end(), std::back_inserter(rest), [](const Write& w) {
            return &w;
        });
    }
    // A failed write is repeated here: it may succeed, else its status is the result.
    for (const Write* write : rest) {
        FRESHET_RETURN_IF_ERROR(file.pwrite(write->data, write->offset));
    }
    return Status::ok();
}

bool BatchWrites::writeByRing(int descriptor, std::span<const Write> writes, Rest* rest) {
    // A ring belongs to the thread that created it; the second one is this thread's.
    for (int tries = 0; tries < 2; ++tries) {
        if (ring_ == nullptr) {
            ring_ = std::make_unique<Ring>();
        }
        if (!ring_->isOpen) {
            return false;
        }
        if (ring_->run(descriptor, writes, rest)) {
            return true;
        }
        ring_.reset();
    }
    return false;
}

}  // namespace freshet::platform
