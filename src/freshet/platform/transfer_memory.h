// SPDX-License-Identifier: Apache-2.0
/// TransferPiece: memory that is one piece for a device as well, for as long as a transfer takes.
///
/// What lies in several pages is many pieces to a device, wherever the system has put them, and a
/// virtual machine's host goes through them one by one: on the one that we measure on a read of
/// three pages took half as long again as one of a huge page's, and a megabyte four times as long
/// (decision 0047). Copying a page costs less than that. All pieces are of a few huge pages that
/// are taken once. Any thread; taking and giving back may wait for a short mutex.
#pragma once

#include <cstddef>
#include <utility>

namespace freshet::platform {

/// The largest piece that there is.
inline constexpr size_t kTransferBytesMax = 1u << 20;

class TransferPiece {
public:
    TransferPiece() = default;
    /// So many bytes, aligned to 4 KiB. Empty: they are all in use, or too small for that many, or
    /// the system gives no huge pages. Whoever gets none transfers as if there were no such pieces.
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

    /// Null: it is empty. Not cleared.
    char* data() const { return data_; }

    /// Whether a transfer from or to there needs no piece: it is in one, or a single page.
    static bool isOnePiece(const char* memory, size_t bytes);

private:
    char* data_ = nullptr;
    size_t bytes_ = 0;
};

/// Takes the huge pages, if that has not been done. Before setHugePages(false), which forbids it.
void prepareTransferMemory();

}  // namespace freshet::platform
