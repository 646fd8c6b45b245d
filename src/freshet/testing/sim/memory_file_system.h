// SPDX-License-Identifier: Apache-2.0
/// MemoryFileSystem: a disk in memory that can lose its power. For unit tests that crash and reopen
/// a journal or an engine many times a second. crash() loses unsynced bytes, sizes and names; only
/// directories themselves are durable at once. Any thread.
///
///     MemoryFileSystem disk;
///     auto journal = open(&disk); append(); journal.reset();      // or just leave it as it is
///     disk.crash();                                               // handles still open are dead
///     journal = open(&disk);                                      // finds what had been synced
#pragma once

#include "freshet/platform/file.h"
#include "freshet/testing/sim/disk_faults.h"

#include <map>
#include <memory>
#include <set>
#include <string>

namespace freshet::testing {

class VolatileFile;

class MemoryFileSystem final : public platform::FileSystem {
public:
    MemoryFileSystem();
    ~MemoryFileSystem() override;

    StatusOr<std::unique_ptr<platform::File>> open(const std::string& path,
                                                   platform::OpenMode mode) override;
    StatusOr<std::vector<std::string>> list(const std::string& directory) override;
    Status makeDirectory(const std::string& path) override;
    Status rename(const std::string& from, const std::string& to) override;
    Status remove(const std::string& path) override;
    Status syncDirectory(const std::string& path) override;
    StatusOr<std::unique_ptr<platform::FileLock>> lock(const std::string& path) override;

    /// Loses everything unsynced. Handles and locks from before are dead: files return kIo.
    void crash();
    /// As crash(), but each unsynced piece of `granularity` bytes (512 or 4096) and each unsynced
    /// change of a name survives with even odds, since a disk may write out what it likes. The same
    /// seed keeps the same pieces.
    void crashKeepingSome(uint64_t seed, uint64_t granularity = 4096);

    /// Makes a durable file with these bytes, whatever was there before. For constructing states of
    /// a disk.
    void put(const std::string& path, std::string bytes);
    /// Changes the byte at `offset` of a file, durably, to a different value: a test that wrote a
    /// fixed byte would damage nothing when that byte happened to be there.
    void damage(const std::string& path, uint64_t offset);

    DiskFaults& faults() { return faults_; }

private:
    class Lock;
    struct Locks;
    using Names = std::map<std::string, std::shared_ptr<VolatileFile>>;
    /// An entry created, moved or removed, not yet durable.
    struct NameChange {
        std::string from;                    // empty: created
        std::string to;                      // empty: removed
        std::shared_ptr<VolatileFile> made;  // for a created one
    };
    bool isDirectory(const std::string& path) const;
    static void apply(const NameChange& change, Names* names);
    void change(NameChange change);
    /// KeepBytes(sector index) and KeepName() decide which unsynced changes survive.
    template <typename KeepBytes, typename KeepName>
    void crashWith(KeepBytes&& keepBytes, KeepName&& keepName);

    DiskFaults faults_;
    sync::Mutex mutex_;
    Names files_;                        // guarded by mutex_
    Names durable_;                      // names only; guarded by mutex_
    std::vector<NameChange> unsynced_;   // guarded by mutex_
    std::set<std::string> directories_;  // guarded by mutex_
    std::shared_ptr<Locks> locks_;       // replaced by a crash
};

}  // namespace freshet::testing
