// SPDX-License-Identifier: Apache-2.0
/// MisreadingFileSystem: reads return wrong bytes of a file that is right, as through a flaky cable
/// or a stale cache. Place and number are exact; a FaultPlan flips any bit of a read, which may be
/// one that no code checks. Any thread.
///
///     MisreadingFileSystem files(disk);
///     files.misread("/db/data.freshet", 8192, 1);     // once, in whatever read takes that byte in
#pragma once

#include "freshet/sync/mutex.h"
#include "freshet/testing/sim/passing_file_system.h"

#include <mutex>
#include <vector>

namespace freshet::testing {

class MisreadingFileSystem final : public PassingFileSystem {
public:
    /// `disk` and this must outlive every file opened through it.
    using PassingFileSystem::PassingFileSystem;

    StatusOr<std::unique_ptr<platform::File>> open(const std::string& path,
                                                   platform::OpenMode mode) override {
        FRESHET_ASSIGN_OR_RETURN(auto file, PassingFileSystem::open(path, mode));
        return std::unique_ptr<platform::File>(
            std::make_unique<MisreadFile>(std::move(file), path, *this));
    }

    /// The next `times` reads that cover the byte at `offset` of that file get a wrong value for
    /// it.
    void misread(const std::string& path, uint64_t offset, uint64_t times) {
        std::lock_guard<sync::Mutex> lock(mutex_);
        spots_.push_back({path, offset, times});
    }
    /// From now on reads are correct.
    void heal() {
        std::lock_guard<sync::Mutex> lock(mutex_);
        spots_.clear();
    }
    /// How many bytes have been misread so far.
    uint64_t misreadings() const {
        std::lock_guard<sync::Mutex> lock(mutex_);
        return misreadings_;
    }

private:
    struct Spot {
        std::string path;
        uint64_t offset;
        uint64_t timesLeft;
    };

    class MisreadFile final : public PassingFile {
    public:
        MisreadFile(std::unique_ptr<platform::File> file,
                    std::string path,
                    MisreadingFileSystem& files)
            : PassingFile(std::move(file)), path_(std::move(path)), files_(files) {}
        StatusOr<size_t> pread(char* out, size_t bytes, uint64_t offset) override {
            FRESHET_ASSIGN_OR_RETURN(const size_t got, PassingFile::pread(out, bytes, offset));
            files_.spoil(path_, out, got, offset);
            return got;
        }

    private:
        const std::string path_;
        MisreadingFileSystem& files_;
    };

    void spoil(const std::string& path, char* bytes, size_t got, uint64_t offset) {
        std::lock_guard<sync::Mutex> lock(mutex_);
        for (Spot& spot : spots_) {
            if (spot.timesLeft != 0 && spot.path == path && spot.offset >= offset &&
                spot.offset - offset < got) {
                bytes[spot.offset - offset] ^= 1;
                --spot.timesLeft;
                ++misreadings_;
            }
        }
    }

    mutable sync::Mutex mutex_;
    std::vector<Spot> spots_;   // guarded by mutex_
    uint64_t misreadings_ = 0;  // guarded by mutex_
};

}  // namespace freshet::testing
