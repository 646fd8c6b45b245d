// SPDX-License-Identifier: Apache-2.0
/// Profiler: which databases have their operations recorded in <db>.system.profile, and how much is
/// kept there. Any thread. One mutex, a leaf; operations take it while some database is profiled or
/// has a filter, and otherwise read one word.
#pragma once

#include "freshet/query/match.h"
#include "freshet/sync/atomic.h"
#include "freshet/sync/mutex.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace freshet::command {

inline constexpr std::string_view kProfileCollection = "system.profile";

/// What the `profile` command sets for a database.
struct ProfileSettings {
    int32_t level = 0;  // 0: record nothing; 1: slow operations; 2: all
    /// Decides instead of time and sample rate, for the log as well; null: no filter.
    std::shared_ptr<const query::Matcher> filter;
};

class Profiler {
public:
    /// `defaultLevel`: for databases that have no settings.
    explicit Profiler(int32_t defaultLevel);
    /// Some database may be profiled, or have a filter.
    bool isUsed() const {
        // [profiler.look] ORDER relaxed: the settings are read under the mutex; an operation that
        // ends during the change may be recorded or not.
        return used_.load(sync::kRelaxed) != 0;
    }
    ProfileSettings of(std::string_view db) const;
    /// kLimit when too many databases have settings of their own.
    Status set(std::string_view db, ProfileSettings settings);
    /// The database has been dropped.
    void forget(std::string_view db);

    /// Adds `by` to the bytes of documents in the collection of that uuid and returns them; nullopt
    /// when setBytes() was not called for it.
    std::optional<int64_t> addBytes(std::string_view db, std::string_view uuid, int64_t by);
    void setBytes(std::string_view db, std::string_view uuid, int64_t bytes);

private:
    static constexpr size_t kSettingsMax = 1'000;
    struct Kept {
        std::string uuid;
        int64_t bytes = 0;
    };
    void noteUse();  // REQUIRES: mutex_ is held

    const ProfileSettings default_;
    /// Databases with settings, and one for the default when it profiles. Written by: set() and
    /// forget(), under mutex_. Read by: every operation.
    sync::Atomic<uint32_t> used_{0};
    mutable sync::Mutex mutex_;
    std::map<std::string, ProfileSettings, std::less<>> settings_;  // guarded by mutex_
    std::map<std::string, Kept, std::less<>> kept_;                 // guarded by mutex_
};

}  // namespace freshet::command
