// SPDX-License-Identifier: Apache-2.0
#include "freshet/sync/worker.h"

#include <mutex>
#include <utility>

namespace freshet::sync {

Worker::Worker(std::string name) : name_(std::move(name)), thread_(name_, [this] { work(); }) {}

Worker::~Worker() {
    {
        std::lock_guard<Mutex> lock(mutex_);
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

StatusOr<WaitToken> Worker::run(std::function<void()> job) {
    const WaitToken done = WaitToken::create();
    std::lock_guard<Mutex> lock(mutex_);
    if (jobs_.size() >= kJobsMax) {
        return Status(Code::kLimit, "too much work is waiting for the thread '" + name_ + "'");
    }
    jobs_.push_back({std::move(job), done});
    if (wake_.isSet()) {
        wake_.complete();
    }
    return done;
}

bool Worker::next(Job* job) {
    while (true) {
        const WaitToken woken = WaitToken::create();
        {
            std::lock_guard<Mutex> lock(mutex_);
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
        blockOn(woken);
    }
}

void Worker::work() {
    Job job;
    while (next(&job)) {
        job.run();
        job.run = nullptr;  // frees what it owned before the waiter is woken
        job.done.complete();
    }
}

}  // namespace freshet::sync
