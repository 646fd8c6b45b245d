// SPDX-License-Identifier: Apache-2.0
/// WaitList: tokens to be completed when an LSN has been reached. A Treiber stack that is only ever
/// taken as a whole, so no node is freed that another thread might be reading.
///
/// No wake-up is lost: the waiter pushes, then looks at the position again; the waker raises the
/// position, then takes the list. Both touch head_ by read-modify-write, one of them first. Waker
/// first: the push reads from the take's release sequence and the second look sees the position.
/// Waiter first: the waker finds the node.
#pragma once

#include "freshet/sync/atomic.h"
#include "freshet/sync/wait_token.h"

#include <cstdint>

namespace freshet::journal {

class WaitList {
public:
    WaitList() = default;
    /// Completes the remaining tokens.
    ~WaitList();
    WaitList(const WaitList&) = delete;
    WaitList& operator=(const WaitList&) = delete;

    /// Returns a token that wake(limit) with limit >= end completes. The caller must then check
    /// whether `end` has been reached meanwhile. Any thread, lock-free.
    sync::WaitToken add(uint64_t end);
    /// Completes all tokens with end <= limit. Limits of earlier wakes stay in force. Any thread.
    void wake(uint64_t limit);

private:
    struct Node {
        uint64_t end;
        sync::WaitToken token;
        Node* next;
    };
    void push(Node* first, Node* last);
    Node* takeAll();
    Node* completeUpTo(Node* list, uint64_t limit);

    /// Newest node. RECLAIM: the thread that took the list frees its nodes.
    sync::Atomic<Node*> head_{nullptr};
    /// Highest limit of any wake; rises only. It makes a waker that puts nodes back notice that
    /// another waker came with a higher limit while it held them.
    sync::Atomic<uint64_t> served_{0};
};

}  // namespace freshet::journal
