// SPDX-License-Identifier: Apache-2.0
#include "freshet/sync/background_threads.h"

#include "freshet/base/assert.h"

#include <algorithm>
#include <mutex>

namespace freshet::sync {
namespace {

Task<void> until(WaitToken token) {
    co_await wait(token);
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

Executor& BackgroundThreads::Stay::executor() const {
    return thread_->executor;
}

void BackgroundThreads::Stay::end() {
    if (thread_ != nullptr) {
        // [background.stay] ORDER relaxed: only the number counts.
        thread_->stays.fetch_sub(1, kRelaxed);
        thread_ = nullptr;
    }
}

BackgroundThreads::BackgroundThreads(size_t threadsMax)
    : threadsMax_(threadsMax != 0 ? threadsMax : 2 * size_t{platform::coreCount()}) {}

BackgroundThreads::~BackgroundThreads() {
    for (const std::unique_ptr<Thread>& thread : threads_) {
        // [background.stay] ORDER relaxed: all stays were waited for.
        invariant(thread->stays.load(kRelaxed) == 0);
    }
}

BackgroundThreads::Stay BackgroundThreads::begin() {
    std::lock_guard<Mutex> lock(mutex_);
    const auto fewer = [](const std::unique_ptr<Thread>& a, const std::unique_ptr<Thread>& b) {
        // [background.stay] ORDER relaxed: a guess.
        return a->stays.load(kRelaxed) < b->stays.load(kRelaxed);
    };
    auto least = std::min_element(threads_.begin(), threads_.end(), fewer);
    // [background.stay] ORDER relaxed: as above.
    if (least == threads_.end() ||
        ((*least)->stays.load(kRelaxed) != 0 && threads_.size() < threadsMax_)) {
        threads_.push_back(std::make_unique<Thread>());
        least = std::prev(threads_.end());
    }
    // [background.stay] ORDER relaxed: as above.
    (*least)->stays.fetch_add(1, kRelaxed);
    return Stay(least->get());
}

}  // namespace freshet::sync
