// SPDX-License-Identifier: Apache-2.0
/// A file with a volatile cache in front of a durable one: bytes written since the last sync are
/// held in memory in blocks, and reach the durable file only by sync().
#pragma once

#include "freshet/platform/file.h"
#include "freshet/sync/mutex.h"
#include "freshet/testing/sim/disk_faults.h"
#include "freshet/testing/sim/leak.h"

#include <map>
#include <memory>
#include <string>

namespace freshet::testing {

inline constexpr uint64_t kDiskBlockBytes = 4096;
inline constexpr uint64_t kSectorBytes = 512;

/// One file, shared by all its handles (as PassingFile). Any thread.
class VolatileFile final : public platform::File {
public:
    /// `durableBytes` is the size of `durable`. `faults` and `leak` must outlive the file.
    VolatileFile(std::unique_ptr<platform::File> durable,
                 uint64_t durableBytes,
                 DiskFaults* faults,
                 Leak* leak = nullptr)
        : faults_(faults),
          leak_(leak),
          durable_(std::move(durable)),
          bytes_(durableBytes),
          valid_(bytes_) {}

    StatusOr<size_t> pread(char* out, size_t bytes, uint64_t offset) override;
    Status pwrite(ByteView data, uint64_t offset) override;
    /// Writes everything to the durable file.
    Status sync() override;
    StatusOr<uint64_t> size() override;
    Status truncate(uint64_t bytes) override;
    void forget(uint64_t, uint64_t) override {}

    /// The power fails: of the unsynced blocks those sectors survive for which `keep(sectorIndex)`
    /// is true, called in order for every sector of a block. The file is dead afterwards: every
    /// call returns kIo. Returns the durable file, or null when it was already dead.
    template <typename Keep>
    std::unique_ptr<platform::File> crash(Keep&& keep);

private:
    Status checkAlive() const;
    /// The block as a reader sees it now.
    StatusOr<std::string> blockAt(uint64_t index);
    Status writeVolatile(ByteView data, uint64_t offset);
    Status writeOut();
    /// Some of the sectors just written to reach the durable file at once, each as it is now: a
    /// disk never mixes a sector's content of two moments.
    Status leakSome(uint64_t offset, size_t bytes);
    static ByteView used(const std::string& block, uint64_t index, uint64_t fileBytes);

    DiskFaults* const faults_;
    Leak* const leak_;
    sync::Mutex mutex_;                        // guards all below; faults_ is called outside it
    std::unique_ptr<platform::File> durable_;  // null after a crash
    uint64_t bytes_;                           // as a reader sees it
    uint64_t valid_;  // durable bytes below this are still the file's; above, zeros
    std::map<uint64_t, std::string> blocks_;  // by index: kDiskBlockBytes each, not yet synced
};

template <typename Keep>
std::unique_ptr<platform::File> VolatileFile::crash(Keep&& keep) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    for (const auto& [index, block] : blocks_) {
        ByteView bytes = used(block, index, bytes_);
        for (uint64_t at = 0; at < kDiskBlockBytes; at += kSectorBytes) {
            uint64_t offset = index * kDiskBlockBytes + at;
            if (keep(offset / kSectorBytes) && at < bytes.size()) {
                Status kept = durable_->pwrite(bytes.substr(at, kSectorBytes), offset);
                invariant(kept.isOk());
            }
        }
    }
    blocks_.clear();
    return std::move(durable_);
}

}  // namespace freshet::testing
