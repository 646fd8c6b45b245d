// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/run/profiler.h"

#include <mutex>

namespace freshet::command {

Profiler::Profiler(int32_t defaultLevel) : default_{defaultLevel, nullptr} {
    noteUse();
}

void Profiler::noteUse() {
    const size_t used = settings_.size() + (default_.level > 0 ? 1 : 0);
    // [profiler.set] ORDER relaxed: see [profiler.look].
    used_.store(static_cast<uint32_t>(used), sync::kRelaxed);
}

ProfileSettings Profiler::of(std::string_view db) const {
    std::lock_guard<sync::Mutex> lock(mutex_);
    const auto found = settings_.find(db);
    return found == settings_.end() ? default_ : found->second;
}

Status Profiler::set(std::string_view db, ProfileSettings settings) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    if (settings.level == 0) {
        kept_.erase(std::string(db));
    }
    if (settings.level == default_.level && settings.filter == nullptr) {
        settings_.erase(std::string(db));
    } else if (settings_.size() >= kSettingsMax && !settings_.contains(db)) {
        return Status(Code::kLimit, "Too many databases have profiler settings of their own");
    } else {
        settings_[std::string(db)] = std::move(settings);
    }
    noteUse();
    return Status::ok();
}

void Profiler::forget(std::string_view db) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    kept_.erase(std::string(db));
    settings_.erase(std::string(db));
    noteUse();
}

std::optional<int64_t> Profiler::addBytes(std::string_view db, std::string_view uuid, int64_t by) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    const auto found = kept_.find(db);
    if (found == kept_.end() || found->second.uuid != uuid) {
        return std::nullopt;
    }
    found->second.bytes += by;
    return found->second.bytes;
}

void Profiler::setBytes(std::string_view db, std::string_view uuid, int64_t bytes) {
    std::lock_guard<sync::Mutex> lock(mutex_);
    kept_[std::string(db)] = {std::string(uuid), bytes};
}

}  // namespace freshet::command
