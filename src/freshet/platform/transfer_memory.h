// SPDX-License-Identifier: Apache-2.0
/// TransferPiece: memory that is one piece for a device as well, for the duration of a transfer.
///
/// Memory of several pages is many pieces to a device, wherever the system has placed them, and a
/// virtual machine's host processes them one by one: where we measured, a read of three pages took
/// half as long again as one from a huge page, and a megabyte four times as long (decision 0047).
/// Copying a page costs less than that. All pieces come from a few huge pages that are taken once.
/// Any thread; taking and giving back may wait for a short mutex.
#pragma once

#include <cstddef>
#include <utility>

namespace freshet::platform {

/// The largest possible piece.
inline constexpr size_t kTransferBytesMax = 1u << 20;

class TransferPiece {
public:
    TransferPiece() = default;
    /// `bytes` bytes, aligned to 4 KiB. Empty: all are in use, too few are free together, or the
    /// system gives no huge pages. The caller then transfers without a piece.
    explicit TransferPiece(size_t bytes);
    ~TransferPiece();
    TransferPiece(TransferPiece&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    TransferPiece& operator=(TransferPiece&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    TransferPiece(const TransferPiece&) = delete;
    TransferPiece& operator=(const TransferPiece&) = delete;

    /// Null: empty. Not cleared.
    char* data() const { return data_; }

    /// Whether a transfer from or to `memory` needs no piece: it is in one, or a single page.
    static bool isOnePiece(const char* memory, size_t bytes);

private:
    char* data_ = nullptr;
    size_t bytes_ = 0;
};

/// Takes the huge pages, unless already done. Call it before setHugePages(false), which forbids it.
void prepareTransferMemory();

}  // namespace freshet::platform
