// SPDX-License-Identifier: Apache-2.0
/// Time; it enters the server only here. Any thread.
#pragma once

#include <cstdint>

namespace freshet::platform {

/// Nanoseconds since an arbitrary start; never goes back.
uint64_t monotonicNanos();
/// Milliseconds since 1970-01-01 UTC; may jump.
int64_t wallMillis();
/// The same clock at the kernel's last tick, some milliseconds ago, at a fraction of the cost: for
/// times that are only summed up.
uint64_t coarseNanos();
/// Processor time (user + system) of the whole process, in microseconds.
uint64_t processCpuMicros();
/// Processor time of the calling thread, in nanoseconds.
uint64_t threadCpuNanos();
/// How long the calling thread has been ready to run but had no processor, in nanoseconds; always 0
/// when the system does not report it. A system call.
uint64_t threadRunDelayNanos();

}  // namespace freshet::platform
