// SPDX-License-Identifier: Apache-2.0
/// Fail points: named places in the server that tests may make fail. Each is an object of static
/// storage beside the code it belongs to; all are listed by name. When off, one costs a relaxed
/// load. Any thread.
#pragma once

#include "freshet/sync/atomic.h"
#include "freshet/sync/mutex.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::telemetry {

/// When a fail point that applies fires. The order is that of the protocol's mode numbers.
enum class FailMode : uint8_t { kOff, kAlwaysOn, kRandom, kTimes, kSkip };

struct FailPointSetting {
    FailMode mode = FailMode::kOff;
    int64_t count = 0;         // kTimes: fires this often; kSkip: lets this many pass first
    double probability = 0.0;  // kRandom
    /// Parameters for the place; only the place knows their form.
    std::string data;
};

class FailPoint {
public:
    /// `name` must outlive it. Adds itself to the list of all.
    explicit FailPoint(std::string_view name);
    ~FailPoint();
    FailPoint(const FailPoint&) = delete;
    FailPoint& operator=(const FailPoint&) = delete;

    std::string_view name() const { return name_; }

    /// True when it may fire.
    bool isOn() const {
        // [failpoint.look] relaxed: as in fire().
        return isOn_.load(sync::kRelaxed);
    }
    /// Returns how often it has fired since the start of the process.
    uint64_t configure(FailPointSetting setting);
    FailPointSetting setting() const;
    uint64_t timesFired() const;

    /// Returns the data when it fires now, else null. `applies` says whether the data concerns the
    /// caller; other callers are not counted.
    std::shared_ptr<const std::string> fire(
        const std::function<bool(const std::string& data)>& applies);

private:
    bool isDueNow();

    const std::string_view name_;
    /// A hint that avoids the lock. Written by: configure() and fire(), under mutex_. Read by: all.
    ///   STEPS    any
    sync::Atomic<bool> isOn_{false};
    mutable sync::Mutex mutex_;
    FailPointSetting setting_;                 // guarded by mutex_; its data is data_
    std::shared_ptr<const std::string> data_;  // guarded by mutex_
    uint64_t timesFired_ = 0;                  // guarded by mutex_
};

/// Null when there is none of that name.
FailPoint* findFailPoint(std::string_view name);
/// In the order of their names.
std::vector<FailPoint*> allFailPoints();

}  // namespace freshet::telemetry
