// SPDX-License-Identifier: Apache-2.0
/// Leak: decides which unsynced changes reach the disk nevertheless. Any thread.
#pragma once

#include "freshet/sync/mutex.h"

#include <cstdint>
#include <mutex>
#include <random>

namespace freshet::testing {

class Leak {
public:
    void set(double chance, uint64_t seed) {
        std::lock_guard<sync::Mutex> lock(mutex_);
        chance_ = chance;
        random_.seed(seed);
    }
    bool next() {
        std::lock_guard<sync::Mutex> lock(mutex_);
        return chance_ > 0 && std::uniform_real_distribution<double>(0, 1)(random_) < chance_;
    }

private:
    sync::Mutex mutex_;
    double chance_ = 0;       // guarded by mutex_
    std::mt19937_64 random_;  // guarded by mutex_
};

}  // namespace freshet::testing
