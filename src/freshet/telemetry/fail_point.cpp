// SPDX-License-Identifier: Apache-2.0
#include "freshet/telemetry/fail_point.h"

#include "freshet/base/assert.h"
#include "freshet/platform/thread.h"

#include <map>
#include <mutex>

namespace freshet::telemetry {
namespace {

/// Created at first use: fail points of other files may be constructed before this file's objects.
struct List {
    sync::Mutex mutex;
    std::map<std::string_view, FailPoint*> byName;  // guarded by mutex
};

List& list() {
    static List all;
    return all;
}

}  // namespace

FailPoint::FailPoint(std::string_view name)
    : name_(name), data_(std::make_shared<const std::string>()) {
    List& all = list();
    std::lock_guard<sync::Mutex> lock(all.mutex);
    const bool isNew = all.byName.emplace(name, this).second;
    invariant(isNew);
}

FailPoint::~FailPoint() {
    List& all = list();
    std::lock_guard<sync::Mutex> lock(all.mutex);
    all.byName.erase(name_);
}

uint64_t FailPoint::configure(FailPointSetting setting) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    data_ = std::make_shared<const std::string>(std::move(setting.data));
    setting.data.clear();
    setting_ = std::move(setting);
    // [failPoint.set] ORDER relaxed: only a hint, the setting is read under the mutex.
    isOn_.store(setting_.mode != FailMode::kOff, sync::kRelaxed);
    return timesFired_;
}

FailPointSetting FailPoint::setting() const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    FailPointSetting out = setting_;
    out.data = *data_;
    return out;
}

uint64_t FailPoint::timesFired() const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    return timesFired_;
}

std::shared_ptr<const std::string> FailPoint::fire(
    const std::function<bool(const std::string& data)>& applies) {
    // [failPoint.hint] ORDER relaxed: see [failPoint.set]; a caller that sees it late counts as
    // earlier.
    if (!isOn_.load(sync::kRelaxed)) {
        return nullptr;
    }
    std::lock_guard<sync::Mutex> lock(mutex_);
    if (setting_.mode == FailMode::kOff || !applies(*data_) || !isDueNow()) {
        return nullptr;
    }
    ++timesFired_;
    return data_;
}

/// REQUIRES: mutex_ held, the point is on and applies to the caller.
bool FailPoint::isDueNow() {
    switch (setting_.mode) {
        case FailMode::kOff:
            return false;
        case FailMode::kAlwaysOn:
            return true;
        case FailMode::kRandom:
            return static_cast<double>(platform::randomSeed() >> 11) * 0x1p-53 <
                   setting_.probability;
        case FailMode::kTimes:
            if (setting_.count > 0 && --setting_.count == 0) {
                setting_.mode = FailMode::kOff;
                // [failPoint.spent] ORDER relaxed: see [failPoint.set].
                isOn_.store(false, sync::kRelaxed);
            }
            return true;
        case FailMode::kSkip:
            return setting_.count == 0 || --setting_.count < 0;
    }
    return false;
}

FailPoint* findFailPoint(std::string_view name) {
    List& all = list();
    std::lock_guard<sync::Mutex> lock(all.mutex);
    auto found = all.byName.find(name);
    return found == all.byName.end() ? nullptr : found->second;
}

std::vector<FailPoint*> allFailPoints() {
    List& all = list();
    std::lock_guard<sync::Mutex> lock(all.mutex);
    std::vector<FailPoint*> result;
    for (const auto& [name, failPoint] : all.byName) {
        result.push_back(failPoint);
    }
    return result;
}

}  // namespace freshet::telemetry
