// SPDX-License-Identifier: Apache-2.0
#ifdef FRESHET_EXPLORE
#include "freshet/testing/sim/explore/memory_model.h"

#include <algorithm>

namespace freshet::testing {
namespace {

bool acquires(std::memory_order order) {
    return order != std::memory_order_relaxed && order != std::memory_order_release;
}

bool releases(std::memory_order order) {
    return order == std::memory_order_release || order == std::memory_order_acq_rel ||
           order == std::memory_order_seq_cst;
}

void raise(std::vector<uint32_t>& view, uint32_t place, uint32_t index) {
    if (view.size() <= place) {
        view.resize(place + 1);
    }
    view[place] = std::max(view[place], index);
}

void joinViews(std::vector<uint32_t>& mine, const std::vector<uint32_t>& other) {
    if (mine.size() < other.size()) {
        mine.resize(other.size());
    }
    for (size_t i = 0; i < other.size(); ++i) {
        mine[i] = std::max(mine[i], other[i]);
    }
}

}  // namespace

void Knowledge::join(const Knowledge& other) {
    for (size_t i = 0; i < clock.size(); ++i) {
        clock[i] = std::max(clock[i], other.clock[i]);
    }
    joinViews(view, other.view);
}

void Knowledge::joinView(const std::vector<uint32_t>& other) {
    joinViews(view, other);
}

void Knowledge::raiseView(uint32_t place, uint32_t index) {
    raise(view, place, index);
}

bool AccessHistory::read(unsigned thread, const Knowledge& knowledge, unsigned* with) {
    readAt_[thread] = knowledge.clock[thread];
    *with = writer_;
    return writtenAt_ <= knowledge.clock[writer_];
}

bool AccessHistory::write(unsigned thread, const Knowledge& knowledge, unsigned* with) {
    bool ordered = writtenAt_ <= knowledge.clock[writer_];
    *with = writer_;
    for (unsigned t = 0; t < readAt_.size(); ++t) {
        if (readAt_[t] > knowledge.clock[t]) {
            ordered = false;
            *with = t;
        }
    }
    writer_ = thread;
    writtenAt_ = knowledge.clock[thread];
    return ordered;
}

void MemoryModel::reset(bool keepOld) {
    keepOld_ = keepOld;
    threads_ = {};
    seqCst_.clear();
    words_.clear();
    plain_.clear();
}

uint32_t MemoryModel::addWord(uint64_t* newest, WordKey key, bool needsPoint) {
    WordHistory& word = words_.emplace_back();
    word.newest = newest;
    word.key = key;
    word.needsPoint = needsPoint;
    word.last.value = *newest;
    return static_cast<uint32_t>(words_.size() - 1);
}

uint32_t MemoryModel::oldestReadable(unsigned thread,
                                     uint32_t place,
                                     std::memory_order order) const {
    const WordHistory& word = words_[place];
    uint32_t oldest = std::max(word.firstIndex, threads_[thread].now.viewOf(place));
    if (order == std::memory_order_seq_cst && place < seqCst_.size()) {
        oldest = std::max(oldest, seqCst_[place]);
    }
    return oldest;
}

void MemoryModel::load(unsigned thread, uint32_t place, uint32_t index, std::memory_order order) {
    ThreadState& me = threads_[thread];
    const Knowledge& gained = words_[place].at(index).released;
    (acquires(order) ? me.now : me.pending).join(gained);
    if (keepOld_) {
        me.now.raiseView(place, index);
    }
}

void MemoryModel::store(
    unsigned thread, uint32_t place, uint64_t value, std::memory_order order, bool isModify) {
    ThreadState& me = threads_[thread];
    WordHistory& word = words_[place];
    uint32_t index = word.newestIndex() + 1;
    if (keepOld_) {
        me.now.raiseView(place, index);
        if (order == std::memory_order_seq_cst) {
            raise(seqCst_, place, index);
        }
    }
    WordHistory::Store made{value, releases(order) ? me.now : me.fenced};
    if (isModify) {
        // Continues the release sequence of the store that it read.
        made.released.join(word.last.released);
    }
    if (keepOld_) {
        made.released.raiseView(place, index);
        word.older.push_back(std::move(word.last));
    } else {
        ++word.firstIndex;
    }
    word.last = std::move(made);
    *word.newest = value;
}

void MemoryModel::fence(unsigned thread) {
    ThreadState& me = threads_[thread];
    me.now.join(me.pending);
    if (keepOld_) {
        me.now.joinView(seqCst_);
        seqCst_ = me.now.view;
    }
    me.fenced = me.now;
}

}  // namespace freshet::testing
#endif
