// SPDX-License-Identifier: Apache-2.0
#include "freshet/platform/thread.h"
#include "freshet/query/spill.h"
#include "freshet/telemetry/log.h"

#include <mutex>
#include <utility>

namespace freshet::query {

SpillSpace::SpillSpace(platform::FileSystem& files,
                       std::string directory,
                       std::function<MemoryLimits()> limits)
    : files_(files), directory_(std::move(directory)), limits_(std::move(limits)) {
    const StatusOr<std::vector<std::string>> left = files_.list(directory_);
    if (!left.isOk()) {
        return;  // nothing has ever been spilled here
    }
    for (const std::string& name : *left) {
        if (const Status removed = files_.remove(directory_ + "/" + name); !removed.isOk()) {
            telemetry::logWarning("query", "a temporary file stays: " + removed.toString());
        }
    }
}

SpillSpace::~SpillSpace() = default;

StatusOr<std::unique_ptr<platform::File>> SpillSpace::openFile() {
    FRESHET_RETURN_IF_ERROR(files_.makeDirectory(directory_));
    // [spill.name] ORDER relaxed: the numbers only have to be unique.
    const uint64_t number = filesMade_.fetch_add(1, sync::kRelaxed);
    const std::string path = directory_ + "/spill-" + std::to_string(number);
    FRESHET_ASSIGN_OR_RETURN(auto file, files_.open(path, platform::OpenMode::kCreateNew));
    FRESHET_RETURN_IF_ERROR(files_.remove(path));
    return file;
}

sync::Worker& SpillSpace::nextWorker() {
    // [spill.turn] ORDER relaxed: any distribution over the threads will do.
    const size_t at = jobs_.fetch_add(1, sync::kRelaxed) % kThreads;
    std::lock_guard<sync::Mutex> lock(mutex_);
    if (workers_[at] == nullptr) {
        workers_[at] = std::make_unique<sync::Worker>("spill" + std::to_string(at));
    }
    return *workers_[at];
}

StatusOr<sync::WaitToken> SpillSpace::run(std::function<void()> job) {
    return nextWorker().run(std::move(job));
}

void SpillSpace::count(Total total, uint64_t number) {
    // [spill.count] ORDER relaxed: a statistic; no decision depends on it.
    totals_[static_cast<size_t>(total)].fetch_add(number, sync::kRelaxed);
}

SpillTotals SpillSpace::totals() const {
    const auto of = [this](Total total) {
        // [spill.totals] ORDER relaxed: as [spill.count].
        return totals_[static_cast<size_t>(total)].load(sync::kRelaxed);
    };
    return {of(Total::kSortSpills),
            of(Total::kGroupSpills),
            of(Total::kBytes),
            of(Total::kKeysSorted),
            of(Total::kBytesSorted)};
}

MemoryRules memoryRules(SpillSpace* space, std::optional<bool> allowDiskUse) {
    MemoryRules rules;
    if (space != nullptr) {
        rules.limits = space->limits();
    }
    rules.space = space;
    rules.usesDisk = allowDiskUse.value_or(rules.limits.usesDisk);
    return rules;
}

}  // namespace freshet::query
