// SPDX-License-Identifier: Apache-2.0
/// The one atomic type. sync::Atomic<T> is std::atomic<T> in normal builds. In the `explore`
/// variant it is an instrumented type: each operation is a scheduling point of testing/sim's
/// explorer and feeds its happens-before clocks, so that a schedule can be replayed by seed and a
/// missing acquire/release edge is reported. Every call names its memory order;
/// buildscripts/lint_atomics.py checks that.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#ifdef FRESHET_EXPLORE
#include "freshet/sync/explored_atomic.h"
#endif

namespace freshet::sync {

#ifdef FRESHET_EXPLORE
template <typename T>
using Atomic = ExploredAtomic<T>;
#else
template <typename T>
using Atomic = std::atomic<T>;
#endif

inline constexpr auto kRelaxed = std::memory_order_relaxed;
inline constexpr auto kAcquire = std::memory_order_acquire;
inline constexpr auto kRelease = std::memory_order_release;
inline constexpr auto kAcqRel = std::memory_order_acq_rel;
inline constexpr auto kSeqCst = std::memory_order_seq_cst;

/// Two threads' unrelated words are this far apart (adjacent-line prefetch included).
inline constexpr size_t kLineBytes = 128;

/// A full store-load fence. The only standalone fence in the tree. Under TSan, which cannot see
/// fences, a seq_cst read-modify-write of a dummy word.
void heavyFence();

/// Tells the explorer that the calling thread reads or writes plain (non-atomic) shared bytes here;
/// it reports a race when no happens-before edge orders two such accesses. No effect in other
/// variants.
#ifdef FRESHET_EXPLORE
void notePlainRead(const void* address);
void notePlainWrite(const void* address);
#else
inline void notePlainRead(const void*) {}
inline void notePlainWrite(const void*) {}
/// A scheduling point in plain code, and a place where a retry loop lets the other threads run.
/// Both have an effect in the explore variant only (explored_atomic.h).
inline void explorePoint() {}
inline void exploreYield() {}
#endif

}  // namespace freshet::sync
