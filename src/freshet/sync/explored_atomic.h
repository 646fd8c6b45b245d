// SPDX-License-Identifier: Apache-2.0
/// What sync::Atomic and sync::Mutex become in the `explore` variant: every operation calls the
/// explorer that runs on this OS thread (testing/sim/explorer.h), which decides which thread runs
/// next, what a load may see, and whether the access was allowed. Without an explorer they are
/// std::atomic and std::mutex. Include sync/atomic.h or sync/mutex.h, not this.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <type_traits>

namespace freshet::sync {

/// The explorer's identifier of one atomic word or mutex. `run` is the execution in which `place`
/// was assigned; a word from an earlier execution (a global) is registered again.
struct ExploredPlace {
    uint64_t run = 0;
    uint32_t place = 0;
};

/// An atomic operation as the explorer sees it: values are widened to 64 bits.
struct ExploredOp {
    enum class Kind : uint8_t { kLoad, kStore, kModify, kCompareExchange };
    Kind kind;
    std::memory_order order;
    std::memory_order failureOrder = std::memory_order_relaxed;
    uint64_t operand = 0;                                         // stored, added..., or desired
    uint64_t expected = 0;                                        // compare-exchange only
    uint64_t (*apply)(uint64_t old, uint64_t operand) = nullptr;  // modify only
    bool exchanged = false;                                       // result of a compare-exchange
};

/// Implemented by testing/sim's explorer. All calls come from code that it runs itself.
class AtomicObserver {
public:
    virtual ~AtomicObserver() = default;
    /// Performs the operation; returns the value that was read (for a store: 0). `newest` is the
    /// word's own storage: its value when the explorer first sees it, and always the newest value.
    virtual uint64_t perform(ExploredPlace& place, uint64_t& newest, ExploredOp& op) = 0;
    /// The word is constructed here: other threads need an edge from here to use it.
    virtual void born(ExploredPlace& place, uint64_t& newest) = 0;
    /// The word's life ends; touching it later is reported.
    virtual void died(ExploredPlace& place) = 0;
    virtual void fence() = 0;
    virtual void plain(const void* address, bool write) = 0;
    virtual void lock(ExploredPlace& place) = 0;
    virtual bool tryLock(ExploredPlace& place) = 0;
    virtual void unlock(ExploredPlace& place) = 0;
    virtual void point() = 0;
    virtual void yield() = 0;
    /// Storage of the running virtual thread; at the thread's end `end` is called with its content.
    virtual void** threadSlot(void (*end)(void*)) = 0;
};

/// The explorer running on this OS thread, or null.
AtomicObserver* atomicObserver();
void setAtomicObserver(AtomicObserver* observer);

/// A scheduling point in plain code.
void explorePoint();
/// "This thread cannot go on before another thread has done something": lets the others run. Every
/// retry loop that waits for another thread needs it; otherwise the explorer reports a livelock.
void exploreYield();

template <typename T>
class ExploredAtomic {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
    using Order = std::memory_order;
    using Kind = ExploredOp::Kind;

public:
    ExploredAtomic() : ExploredAtomic(T{}) {}
    ExploredAtomic(T value) : newest_(widen(value)) {  // NOLINT: implicit, as std::atomic
        if (AtomicObserver* observer = atomicObserver()) {
            observer->born(place_, newest_);
        }
    }
    ~ExploredAtomic() {
        if (AtomicObserver* observer = atomicObserver()) {
            observer->died(place_);
        }
    }
    ExploredAtomic(const ExploredAtomic&) = delete;
    ExploredAtomic& operator=(const ExploredAtomic&) = delete;

    T load(Order order) const {
        ExploredOp op{.kind = Kind::kLoad, .order = order};
        return narrow(perform(op));
    }
    void store(T value, Order order) {
        ExploredOp op{.kind = Kind::kStore, .order = order, .operand = widen(value)};
        perform(op);
    }
    T exchange(T value, Order order) {
        return modify(value, order, [](uint64_t, uint64_t operand) { return operand; });
    }
    bool compare_exchange_strong(T& expected, T desired, Order success, Order failure) {
        ExploredOp op{.kind = Kind::kCompareExchange,
                      .order = success,
                      .failureOrder = failure,
                      .operand = widen(desired),
                      .expected = widen(expected)};
        uint64_t seen = perform(op);
        if (!op.exchanged) {
            expected = narrow(seen);
        }
        return op.exchanged;
    }
    bool compare_exchange_strong(T& expected, T desired, Order order) {
        return compare_exchange_strong(expected, desired, order, failureOf(order));
    }
    bool compare_exchange_weak(T& expected, T desired, Order success, Order failure) {
        return compare_exchange_strong(expected, desired, success, failure);
    }
    bool compare_exchange_weak(T& expected, T desired, Order order) {
        return compare_exchange_strong(expected, desired, order, failureOf(order));
    }

    // Pointers are moved by bytes/sizeof as std::atomic does; integers wrap.
    template <typename D>
    T fetch_add(D delta, Order order) {
        return modify(static_cast<Operand>(delta), order, [](uint64_t old, uint64_t operand) {
            return widen(static_cast<T>(narrow(old) + unpack(operand)));
        });
    }
    template <typename D>
    T fetch_sub(D delta, Order order) {
        return modify(static_cast<Operand>(delta), order, [](uint64_t old, uint64_t operand) {
            return widen(static_cast<T>(narrow(old) - unpack(operand)));
        });
    }
    T fetch_or(T bits, Order order) {
        return modify(bits, order, [](uint64_t old, uint64_t operand) { return old | operand; });
    }
    T fetch_and(T bits, Order order) {
        return modify(bits, order, [](uint64_t old, uint64_t operand) { return old & operand; });
    }
    T fetch_xor(T bits, Order order) {
        return modify(bits, order, [](uint64_t old, uint64_t operand) { return old ^ operand; });
    }
    bool is_lock_free() const { return true; }

private:
    using Operand = std::conditional_t<std::is_pointer_v<T>, std::ptrdiff_t, T>;

    template <typename V>
    static uint64_t widen(V value) {
        uint64_t wide = 0;
        std::memcpy(&wide, &value, sizeof(V));
        return wide;
    }
    static T narrow(uint64_t wide) {
        T value;
        std::memcpy(&value, &wide, sizeof(T));
        return value;
    }
    static Operand unpack(uint64_t wide) {
        Operand value;
        std::memcpy(&value, &wide, sizeof(Operand));
        return value;
    }
    static Order failureOf(Order order) {
        return order == std::memory_order_acq_rel   ? std::memory_order_acquire
               : order == std::memory_order_release ? std::memory_order_relaxed
                                                    : order;
    }
    template <typename V>
    T modify(V operand, Order order, uint64_t (*apply)(uint64_t, uint64_t)) {
        ExploredOp op{
            .kind = Kind::kModify, .order = order, .operand = widen(operand), .apply = apply};
        return narrow(perform(op));
    }

    uint64_t perform(ExploredOp& op) const {
        if (AtomicObserver* observer = atomicObserver()) {
            return observer->perform(place_, newest_, op);
        }
        return performUnobserved(op);
    }
    uint64_t performUnobserved(ExploredOp& op) const {
        std::atomic_ref<uint64_t> word(newest_);
        uint64_t old = word.load(std::memory_order_seq_cst);
        if (op.kind == Kind::kLoad) {
            return old;
        }
        for (;;) {
            uint64_t next = op.kind == Kind::kModify ? op.apply(old, op.operand) : op.operand;
            if (op.kind == Kind::kCompareExchange && old != op.expected) {
                return old;
            }
            // [explored.perform] CAS. ORDER: seq_cst is enough whatever the caller asked for.
            //   LOST     another thread changed the word: again from its new value.
            //   PROGRESS lock-free.
            if (word.compare_exchange_weak(old, next, std::memory_order_seq_cst)) {
                op.exchanged = true;
                return old;
            }
        }
    }

    mutable uint64_t newest_;
    mutable ExploredPlace place_;
};

class ExploredMutex {
public:
    ExploredMutex() = default;
    ~ExploredMutex() {
        if (AtomicObserver* observer = atomicObserver()) {
            observer->died(place_);
        }
    }
    ExploredMutex(const ExploredMutex&) = delete;
    ExploredMutex& operator=(const ExploredMutex&) = delete;

    void lock() {
        AtomicObserver* observer = atomicObserver();
        observer != nullptr ? observer->lock(place_) : mutex_.lock();
    }
    bool try_lock() {
        AtomicObserver* observer = atomicObserver();
        return observer != nullptr ? observer->tryLock(place_) : mutex_.try_lock();
    }
    void unlock() {
        AtomicObserver* observer = atomicObserver();
        observer != nullptr ? observer->unlock(place_) : mutex_.unlock();
    }

private:
    std::mutex mutex_;
    ExploredPlace place_;
};

}  // namespace freshet::sync
