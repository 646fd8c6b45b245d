// SPDX-License-Identifier: Apache-2.0
/// What the operations of a model see and do.
#ifdef FRESHET_EXPLORE
#include "freshet/testing/sim/explore/inside.h"

#include <algorithm>
#include <bit>
#include <sstream>

namespace freshet::testing {
namespace {

using Kind = sync::ExploredOp::Kind;

std::string threadName(unsigned thread) {
    return thread == 0 ? "setup/finally" : "thread " + std::to_string(thread);
}

const char* orderName(std::memory_order order) {
    switch (order) {
        case std::memory_order_relaxed:
            return "relaxed";
        case std::memory_order_consume:
        case std::memory_order_acquire:
            return "acquire";
        case std::memory_order_release:
            return "release";
        case std::memory_order_acq_rel:
            return "acq_rel";
        case std::memory_order_seq_cst:
            return "seq_cst";
    }
    return "?";
}

}  // namespace

uint32_t Execution::placeOf(sync::ExploredPlace& place, uint64_t& newest) {
    if (place.run != run_) {
        // A global from before this execution: all threads know its value.
        place = {run_, memory_.addWord(&newest, kGlobalWord, shared_.has(kGlobalWord))};
    }
    return place.place;
}

WordHistory& Execution::touch(uint32_t place, const void* address) {
    WordHistory& word = memory_.word(place);
    if (word.dead || Quarantine::holds(address)) {
        fail("use of " + nameOf(place) + " after its end, by " + threadName(running_));
    }
    unsigned with = 0;
    if (!word.life.read(running_, memory_.of(running_), &with)) {
        fail("race: " + threadName(running_) + " uses " + nameOf(place) + ", which " +
             threadName(with) + " constructed, with no happens-before edge between");
    }
    return word;
}

uint32_t Execution::pickStore(uint32_t place, const sync::ExploredOp& op) {
    const WordHistory& word = memory_.word(place);
    uint32_t newest = word.newestIndex();
    if (staleLoads_ >= options_.staleLoads || op.kind == Kind::kModify || running_ == 0) {
        return newest;
    }
    std::vector<uint32_t> readable = {newest};
    uint32_t oldest = memory_.oldestReadable(running_, place, op.order);
    for (uint32_t i = newest; i-- > oldest;) {
        // A compare-exchange that sees its expected value must use the newest store.
        if (op.kind == Kind::kLoad || word.at(i).value != op.expected) {
            readable.push_back(i);
        }
    }
    unsigned taken = chooser_.choose(static_cast<unsigned>(readable.size()));
    staleLoads_ += taken != 0 ? 1 : 0;
    return readable[taken];
}

uint64_t Execution::perform(sync::ExploredPlace& place, uint64_t& newest, sync::ExploredOp& op) {
    Inside inside;
    uint32_t p = placeOf(place, newest);
    if (memory_.word(p).needsPoint) {
        schedule(true);
    } else {
        countStep();
    }
    memory_.tick(running_);
    noteUse(touch(p, &newest), op.kind != Kind::kLoad);
    if (op.kind == Kind::kStore) {
        memory_.store(running_, p, op.operand, op.order, false);
        noteStored();
        note(p, "store ", orderName(op.order), op.operand, false);
        return 0;
    }
    uint32_t index = pickStore(p, op);
    bool stale = index != memory_.word(p).newestIndex();
    uint64_t seen = memory_.word(p).at(index).value;
    op.exchanged = op.kind == Kind::kCompareExchange && !stale && seen == op.expected;
    bool changes = op.kind == Kind::kModify || op.exchanged;
    std::memory_order order =
        op.kind == Kind::kCompareExchange && !changes ? op.failureOrder : op.order;
    memory_.load(running_, p, index, order);
    const char* what = op.kind == Kind::kLoad     ? "load "
                       : op.kind == Kind::kModify ? "modify "
                       : op.exchanged             ? "exchange "
                                                  : "exchange lost ";
    note(p, what, orderName(order), seen, stale);
    if (changes) {
        uint64_t next = op.kind == Kind::kModify ? op.apply(seen, op.operand) : op.operand;
        memory_.store(running_, p, next, op.order, true);
        noteStored();
        note(p, "  makes it", "", next, false);
    }
    return seen;
}

void Execution::born(sync::ExploredPlace& place, uint64_t& newest) {
    Inside inside;
    memory_.tick(running_);
    const WordKey key = wordKey(running_, me().wordsMade++);
    place = {run_, memory_.addWord(&newest, key, shared_.has(key))};
    unsigned with = 0;
    static_cast<void>(memory_.word(place.place).life.write(running_, memory_.of(running_), &with));
}

void Execution::died(sync::ExploredPlace& place) {
    Inside inside;
    if (place.run != run_) {
        return;
    }
    memory_.tick(running_);
    WordHistory& word = memory_.word(place.place);
    unsigned with = 0;
    if (!word.life.write(running_, memory_.of(running_), &with)) {
        fail("race: " + threadName(running_) + " destroys " + nameOf(place.place) +
             ", which is not ordered after its use by " + threadName(with));
    }
    word.dead = true;
}

void Execution::fence() {
    Inside inside;
    // Fences only affect stale values.
    if (options_.staleLoads != 0) {
        schedule(true);
    }
    memory_.tick(running_);
    memory_.fence(running_);
    noteText("fence");
}

void Execution::plain(const void* address, bool write) {
    Inside inside;
    memory_.tick(running_);
    if (Quarantine::holds(address)) {
        fail("use of plain memory after its end, by " + threadName(running_));
    }
    AccessHistory& history = memory_.plain(address);
    unsigned with = 0;
    bool ordered = write ? history.write(running_, memory_.of(running_), &with)
                         : history.read(running_, memory_.of(running_), &with);
    if (tracing_) {
        noteText((write ? "plain write " : "plain read ") + plainName(address));
    }
    if (!ordered) {
        fail("race: " + threadName(running_) + (write ? " writes " : " reads ") +
             plainName(address) + " with no happens-before edge to the access of " +
             threadName(with));
    }
}

void Execution::lock(sync::ExploredPlace& place) {
    Inside inside;
    schedule(true);
    uint32_t p = placeOf(place, mutexWord_);
    blockUntil([this, p] { return memory_.word(p).lockedBy == 0; });
    memory_.tick(running_);
    memory_.word(p).lockedBy = running_ + 1;
    memory_.load(running_, p, memory_.word(p).newestIndex(), std::memory_order_acquire);
    noteMutex("locks mutex ", p);
}

bool Execution::tryLock(sync::ExploredPlace& place) {
    Inside inside;
    schedule(true);
    uint32_t p = placeOf(place, mutexWord_);
    memory_.tick(running_);
    if (memory_.word(p).lockedBy != 0) {
        return false;
    }
    memory_.word(p).lockedBy = running_ + 1;
    memory_.load(running_, p, memory_.word(p).newestIndex(), std::memory_order_acquire);
    return true;
}

void Execution::unlock(sync::ExploredPlace& place) {
    Inside inside;
    uint32_t p = placeOf(place, mutexWord_);
    memory_.tick(running_);
    if (memory_.word(p).lockedBy != running_ + 1) {
        fail(threadName(running_) + " unlocks a mutex that it does not hold");
    }
    memory_.word(p).lockedBy = 0;
    memory_.store(running_, p, 0, std::memory_order_release, false);
    noteStored();
    noteMutex("unlocks mutex ", p);
}

void Execution::point() {
    Inside inside;
    schedule(true);
}

void Execution::yield() {
    Inside inside;
    me().yielded = true;
    ++me().yields;
    chooser_.noteYield(running_);
    schedule(false);
    me().yielded = false;
}

void** Execution::threadSlot(void (*end)(void*)) {
    me().endSlot = end;
    return &me().slot;
}

void Execution::waitUntil(std::function<bool()> condition) {
    Inside inside;
    blockUntil(std::move(condition));
}

/// Something has changed: threads that yielded may look again.
void Execution::noteStored() {
    for (unsigned t = 0; t < threads_.size(); ++t) {
        threads_[t].yielded = threads_[t].yielded && t == running_;
    }
}

void Execution::noteUse(WordHistory& word, bool written) {
    if (running_ != 0) {
        word.usedBy |= 1u << running_;
        word.written = word.written || written;
        if (!word.needsPoint && word.written && std::popcount(word.usedBy) > 1) {
            shared_.learn(word.key);
        }
    }
}

std::string Execution::nameOf(uint32_t place) {
    auto known = names_.find(memory_.word(place).newest);
    return known != names_.end() ? known->second : "word " + std::to_string(place);
}

std::string Execution::plainName(const void* address) {
    auto known = names_.find(address);
    return known != names_.end() ? known->second : "plain memory";
}

void Execution::note(
    uint32_t place, const char* what, const char* order, uint64_t value, bool stale) {
    if (tracing_) {
        std::ostringstream line;
        line << what << order << ' ' << nameOf(place) << " = " << value;
        if (value > UINT64_C(0xffffffff)) {
            line << " (0x" << std::hex << value << ')';
        }
        noteText(line.str() + (stale ? "  STALE" : ""));
    }
}

void Execution::noteMutex(const char* what, uint32_t place) {
    if (tracing_) {
        noteText(what + std::to_string(place));
    }
}

void Execution::noteText(std::string text) {
    if (tracing_) {
        trace_.push_back((running_ == 0 ? "  setup " : "  T" + std::to_string(running_) + "    ") +
                         text);
    }
}

}  // namespace freshet::testing
#endif
