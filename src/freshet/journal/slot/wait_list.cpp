// SPDX-License-Identifier: Apache-2.0
#include "freshet/journal/slot/wait_list.h"

#include "freshet/journal/slot/raise.h"

namespace freshet::journal {

WaitList::~WaitList() {
    wake(UINT64_MAX);
}

sync::WaitToken WaitList::add(uint64_t end) {
    auto* node = new Node{end, sync::WaitToken::create(), nullptr};
    sync::WaitToken token = node->token;
    push(node, node);
    return token;
}

void WaitList::push(Node* first, Node* last) {
    Node* head = head_.load(sync::kRelaxed);  // only a guess for the CAS
    do {
        last->next = head;
        // [waitList.push] CAS. ORDER acq_rel: release pairs with [waitList.take] (the node's
        //   fields); acquire pairs with it too: a thread that pushes after a take sees the position
        //   that the taker had raised before. Relaxed on failure: the value only feeds the next
        //   try. LOST     another thread pushed or took: try again on the new head. PROGRESS
        //   lock-free: our failure is another thread's success.
    } while (!head_.compare_exchange_weak(head, first, sync::kAcqRel, sync::kRelaxed));
}

WaitList::Node* WaitList::takeAll() {
    // [waitList.take] acq_rel: pairs with [waitList.push], both ways. Always a read-modify-write,
    // even on an empty list: see the head of wait_list.h.
    return head_.exchange(nullptr, sync::kAcqRel);
}

WaitList::Node* WaitList::completeUpTo(Node* list, uint64_t limit) {
    Node* rest = nullptr;
    while (list != nullptr) {
        Node* node = list;
        list = node->next;
        if (node->end <= limit) {
            node->token.complete();
            delete node;
        } else {
            node->next = rest;
            rest = node;
        }
    }
    return rest;
}

void WaitList::wake(uint64_t limit) {
    raiseTo(served_, limit);
    for (;;) {
        // [waitList.served] acquire: pairs with [raise.cas]; relaxed would do for the number alone.
        limit = served_.load(sync::kAcquire);
        Node* rest = completeUpTo(takeAll(), limit);
        if (rest == nullptr) {
            return;
        }
        Node* last = rest;
        while (last->next != nullptr) {
            last = last->next;
        }
        push(rest, last);
        // A waker with a higher limit may have found the list empty while we held the nodes. This
        // ends: each further turn means that there was such a waker.
        if (served_.load(sync::kAcquire) == limit) {
            return;
        }
    }
}

}  // namespace freshet::journal
