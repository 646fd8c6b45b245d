// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/background/worker.h"

#include <mutex>
#include <utility>

namespace freshet::command {

Worker::Worker() : thread_("worker", [this] { work(); }) {}

Worker::~Worker() {
    {
        std::lock_guard<sync::Mutex> lock(mutex_);
        isStopping_ = true;
        if (wake_.isSet()) {
            wake_.complete();
        }
    }
    thread_.join();
    for (const Job& job : jobs_) {
        job.done.complete();
    }
}

StatusOr<sync::WaitToken> Worker::run(std::function<void()> job) {
    const sync::WaitToken done = sync::WaitToken::create();
    std::lock_guard<sync::Mutex> lock(mutex_);
    if (jobs_.size() >= kJobsMax) {
        return Status(Code::kLimit, "Too many passwords are waiting to be hashed");
    }
    jobs_.push_back({std::move(job), done});
    if (wake_.isSet()) {
        wake_.complete();
    }
    return done;
}

bool Worker::next(Job* job) {
    while (true) {
        const sync::WaitToken woken = sync::WaitToken::create();
        {
            std::lock_guard<sync::Mutex> lock(mutex_);
            wake_ = {};
            if (isStopping_) {
                return false;
            }
            if (!jobs_.empty()) {
                *job = std::move(jobs_.front());
                jobs_.pop_front();
                return true;
            }
            wake_ = woken;
        }
        sync::blockOn(woken);
    }
}

void Worker::work() {
    Job job;
    while (next(&job)) {
        job.run();
        job.run = nullptr;  // what it owned goes before anybody is told
        job.done.complete();
    }
}

}  // namespace freshet::command
