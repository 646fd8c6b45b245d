// SPDX-License-Identifier: Apache-2.0
/// BatchQueue: passes values from threads that must not wait to one that takes them all at once.
/// Nodes are never popped singly, so no node is freed that another thread might be reading.
#pragma once

#include "freshet/sync/atomic.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace freshet::journal {

template <typename T>
class BatchQueue {
public:
    BatchQueue() = default;
    ~BatchQueue() { static_cast<void>(takeAll()); }
    BatchQueue(const BatchQueue&) = delete;
    BatchQueue& operator=(const BatchQueue&) = delete;

    /// Any thread, lock-free.
    void push(T value) {
        auto* node = new Node{std::move(value), head_.load(sync::kRelaxed)};  // a guess for the CAS
        // [batchQueue.push] CAS. ORDER release: pairs with [batchQueue.take], the node is whole.
        //   Relaxed on failure: the value is only fed to the next attempt.
        //   LOST     another thread pushed or took: try again on the new head.
        //   PROGRESS lock-free: our failure is another thread's success.
        while (!head_.compare_exchange_weak(node->next, node, sync::kRelease, sync::kRelaxed)) {
        }
    }

    /// The values pushed since the last call, in the order of the pushes. Any thread.
    std::vector<T> takeAll() {
        std::vector<T> values;
        // [batchQueue.take] acquire: pairs with [batchQueue.push].
        Node* node = head_.exchange(nullptr, sync::kAcquire);
        while (node != nullptr) {
            values.push_back(std::move(node->value));
            delete std::exchange(node, node->next);
        }
        std::reverse(values.begin(), values.end());
        return values;
    }

private:
    struct Node {
        T value;
        Node* next;
    };
    /// Newest node. Written by: pushers, takers. RECLAIM: the taker of the list frees its nodes.
    ///   ABA      no node is popped singly: a CAS that succeeds on a reused address is still right
    sync::Atomic<Node*> head_{nullptr};
};

}  // namespace freshet::journal
