// SPDX-License-Identifier: Apache-2.0
/// TraceRecorder: records everything that a run does to its files, so that the states a crash could
/// have left behind can be made afterwards (crash_states.h). Any thread; calls are recorded in the
/// order in which they take effect, one at a time.
#pragma once

#include "freshet/platform/file.h"
#include "freshet/sync/mutex.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace freshet::testing {

struct TraceOp {
    enum class Kind : uint8_t {
        kMakeDirectory,
        kCreate,
        kRename,
        kRemove,
        kSyncDirectory,
        kWrite,
        kTruncate,
        kSync
    };
    Kind kind;
    std::string path{};   // for names; for a file, its name when it was opened
    std::string to{};     // kRename
    uint32_t file = 0;    // kCreate, kWrite, kTruncate, kSync: the file, whatever it is called
    uint64_t offset = 0;  // kWrite; kTruncate: the size
    std::string data{};   // kWrite
};

using Trace = std::vector<TraceOp>;

class TraceRecorder final : public platform::FileSystem {
public:
    /// `below` must be empty, so that the trace is complete.
    explicit TraceRecorder(platform::FileSystem& below) : below_(below) {}

    StatusOr<std::unique_ptr<platform::File>> open(const std::string& path,
                                                   platform::OpenMode mode) override;
    StatusOr<std::vector<std::string>> list(const std::string& directory) override;
    Status makeDirectory(const std::string& path) override;
    Status rename(const std::string& from, const std::string& to) override;
    Status remove(const std::string& path) override;
    Status syncDirectory(const std::string& path) override;
    StatusOr<std::unique_ptr<platform::FileLock>> lock(const std::string& path) override;

    /// Operations recorded so far. What was acknowledged before this call must be in every state of
    /// a prefix at least this long.
    size_t position() const;
    Trace trace() const;

private:
    friend class RecordedFile;
    /// Runs `call` and records `op` if it was ok.
    template <typename Call>
    Status record(TraceOp op, Call&& call);

    platform::FileSystem& below_;
    mutable sync::Mutex mutex_;  // guards all below, and orders the calls
    Trace trace_;
    std::map<std::string, uint32_t> files_;  // by name
    uint32_t filesMade_ = 0;
};

}  // namespace freshet::testing
