// SPDX-License-Identifier: Apache-2.0
/// PutOff: work that a reactor's pass does after all other work of that pass. Messages whose
/// handlers looked ahead wait here, so that what all of them need is loaded together.
#pragma once

#include "freshet/sync/executor.h"

#include <utility>

namespace freshet::transport {

/// One thread's. Order of pushing.
class PutOff {
public:
    /// The calling thread's, or null: the thread has no passes.
    static PutOff* current() { return current_; }
    static void setCurrent(PutOff* mine) { current_ = mine; }

    bool isEmpty() const { return head_ == nullptr; }
    void push(sync::WorkItem* item) {
        item->next = nullptr;
        (tail_ != nullptr ? tail_->next : head_) = item;
        tail_ = item;
    }
    /// A list linked by WorkItem::next.
    sync::WorkItem* takeAll() {
        tail_ = nullptr;
        return std::exchange(head_, nullptr);
    }

private:
    inline static thread_local PutOff* current_ = nullptr;
    sync::WorkItem* head_ = nullptr;
    sync::WorkItem* tail_ = nullptr;
};

}  // namespace freshet::transport
