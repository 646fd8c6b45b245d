// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/txn/memory_budget.h"

namespace freshet::engine {

using sync::kRelaxed;

void MemoryBudget::start(std::function<void()> wake) {
    std::lock_guard<std::mutex> guard(mutex_);
    wake_ = std::move(wake);
}

void MemoryBudget::stop() {
    std::vector<sync::WaitToken> waiting;
    {
        std::lock_guard<std::mutex> guard(mutex_);
        wake_ = nullptr;
        waiting.swap(waiting_);
    }
    for (const sync::WaitToken& token : waiting) {
        token.complete();
    }
}

void MemoryBudget::note() {
    // [budget.call] relaxed: see there.
    if (!isHigh() || called_.load(kRelaxed) != 0) {
        return;
    }
    std::lock_guard<std::mutex> guard(mutex_);
    if (wake_ && called_.exchange(1, kRelaxed) == 0) {
        wake_();
    }
}

bool MemoryBudget::mustWait(sync::WaitToken* token) {
    note();
    if (!isTight()) {
        return false;
    }
    std::lock_guard<std::mutex> guard(mutex_);
    if (!wake_ || isVain_) {
        return false;
    }
    waiting_.push_back(sync::WaitToken::create());
    *token = waiting_.back();
    return true;
}

bool MemoryBudget::endRound(bool freed, uint64_t nowNanos) {
    std::vector<sync::WaitToken> waiting;
    {
        std::lock_guard<std::mutex> guard(mutex_);
        if (isTight() && freed && ++rounds_ < kRoundsMax && !waiting_.empty()) {
            return true;
        }
        rounds_ = 0;
        const uint64_t since = vainSinceNanos_ != 0 ? vainSinceNanos_ : nowNanos;
        vainSinceNanos_ = isTight() && !freed ? since : 0;
        isVain_ = vainSinceNanos_ != 0 && nowNanos - since >= kVainNanosMax;
        // [budget.call] relaxed: see there.
        called_.store(0, kRelaxed);
        waiting.swap(waiting_);
    }
    for (const sync::WaitToken& token : waiting) {
        token.complete();
    }
    return false;
}

}  // namespace freshet::engine
