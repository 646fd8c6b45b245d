// SPDX-License-Identifier: Apache-2.0
/// PostQueue: work items on their way to a reactor from other threads. Many posters, one taker.
/// Intrusive, so posting allocates nothing. Only the poster that finds the queue empty must wake
/// the taker.
#pragma once

#include "freshet/sync/atomic.h"
#include "freshet/sync/executor.h"

namespace freshet::transport {

/// A stack that is taken as a whole and reversed.
///   WORD     the newest item, or null when empty. Written by: posters, the taker. Read by: both.
///   STEPS    empty -> items pushed on top -> taken as a whole (empty)
///   INV-1    between two takes exactly one push finds the queue empty: that poster wakes.
///   OWNS     an item is the queue's from its push to its take, then the taker's.
///   RECLAIM  an item may die once its run was entered; next is read before that. The taker takes
///            only after it was woken (reactor.cpp), that is after the waking poster's last touch
///            of the reactor; all other posters' last touch is their push. So no poster touches a
///            reactor whose items have all run, and it may be destroyed then.
///   ABA      harmless: a push reads the top only to link to it, and the taker takes all.
class PostQueue {
public:
    /// Any thread. True: the queue was empty, wake the taker.
    bool push(sync::WorkItem* item) {
        // [post.top] relaxed: only the CAS's first guess.
        sync::WorkItem* top = top_.load(sync::kRelaxed);
        do {
            sync::notePlainWrite(&item->next);
            item->next = top;
            // [post.push] CAS  links the item.
            //   ORDER   release on success: pairs with [post.take], so the item's fields are
            //           visible there. relaxed on failure: the value is only fed to the next try.
            //   LOST    another push, or the take, was first: link to what is there now.
            //   PROGRESS lock-free: our failure is another thread's success.
        } while (!top_.compare_exchange_weak(top, item, sync::kRelease, sync::kRelaxed));
        return top == nullptr;
    }

    /// The taker's thread. All items, oldest first; null when there is none.
    sync::WorkItem* takeAll() {
        // [post.take] acquire: pairs with [post.push]; the pushes below the top are in its release
        // sequence, since every push is a read-modify-write of this word.
        sync::WorkItem* item = top_.exchange(nullptr, sync::kAcquire);
        sync::WorkItem* oldestFirst = nullptr;
        while (item != nullptr) {
            sync::notePlainRead(&item->next);
            sync::WorkItem* older = item->next;
            item->next = oldestFirst;
            oldestFirst = item;
            item = older;
        }
        return oldestFirst;
    }

private:
    sync::Atomic<sync::WorkItem*> top_{nullptr};
};

}  // namespace freshet::transport
