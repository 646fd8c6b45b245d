// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/run/background_threads.h"

#include "freshet/command/run/invocation.h"

#include <algorithm>
#include <mutex>

namespace freshet::command {
namespace {

constexpr size_t kLargeBytes = 32 * 1024;
constexpr size_t kLargeInsertBytes = 1024 * 1024;

sync::Task<void> until(sync::WaitToken token) {
    co_await sync::wait(token);
}

}  // namespace

BackgroundThreads::Thread::Thread()
    : thread("background", [this] {
          platform::giveWay();
          executor.run(until(ended));
      }) {}

BackgroundThreads::Thread::~Thread() {
    ended.complete();
    thread.join();
}

sync::Executor& BackgroundThreads::Stay::executor() const {
    return thread_->executor;
}

void BackgroundThreads::Stay::end() {
    if (thread_ != nullptr) {
        // [background.stay] ORDER relaxed: only the number counts.
        thread_->stays.fetch_sub(1, sync::kRelaxed);
        thread_ = nullptr;
    }
}

BackgroundThreads::BackgroundThreads(size_t threadsMax)
    : threadsMax_(threadsMax != 0 ? threadsMax : 2 * size_t{platform::coreCount()}) {}

BackgroundThreads::~BackgroundThreads() {
    for (const std::unique_ptr<Thread>& thread : threads_) {
        // [background.stay] ORDER relaxed: whoever stayed has been waited for.
        invariant(thread->stays.load(sync::kRelaxed) == 0);
    }
}

BackgroundThreads::Stay BackgroundThreads::begin() {
    std::lock_guard<sync::Mutex> lock(mutex_);
    const auto fewer = [](const std::unique_ptr<Thread>& a, const std::unique_ptr<Thread>& b) {
        // [background.stay] ORDER relaxed: a guess.
        return a->stays.load(sync::kRelaxed) < b->stays.load(sync::kRelaxed);
    };
    auto least = std::min_element(threads_.begin(), threads_.end(), fewer);
    // [background.stay] ORDER relaxed: as above.
    if (least == threads_.end() ||
        ((*least)->stays.load(sync::kRelaxed) != 0 && threads_.size() < threadsMax_)) {
        threads_.push_back(std::make_unique<Thread>());
        least = std::prev(threads_.end());
    }
    // [background.stay] ORDER relaxed: as above.
    (*least)->stays.fetch_add(1, sync::kRelaxed);
    return Stay(least->get());
}

bool isForBackground(size_t messageBytes, bool insertsDocuments) {
    return messageBytes >= (insertsDocuments ? kLargeInsertBytes : kLargeBytes);
}

bool mayTakeLong(const Invocation& call) {
    // Those that may have scripts are those that may have expressions.
    return call.command.scripts != Command::Scripts::kNever &&
           anyDocument(call, query::mayTakeLong);
}

sync::Task<void> goToBackground(Invocation& call) {
    if (call.stay == nullptr || *call.stay || call.runsScripts) {
        co_return;
    }
    *call.stay = call.services.background.begin();
    co_await sync::moveTo(call.stay->executor());
}

}  // namespace freshet::command
