// SPDX-License-Identifier: Apache-2.0
/// Counts events of another process through perf_event_open: needs the rights for it (root, or
/// perf_event_paranoid) and, for system calls, the tracing file system.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace freshet::bench {

enum class ProcessEvent : uint8_t {
    kSystemCall,
    kInstruction,  // in user mode
};

/// Counts from its construction on, in all threads that the process has and in those that they
/// start. Own thread.
class ProcessEvents {
public:
    ProcessEvents(int64_t pid, ProcessEvent event);
    ProcessEvents(const ProcessEvents&) = delete;
    ProcessEvents& operator=(const ProcessEvents&) = delete;
    ~ProcessEvents();
    /// The count so far; empty if one of the threads could not be watched.
    std::optional<uint64_t> read() const;

private:
    std::vector<int> descriptors_;
    bool isWhole_ = false;
};

}  // namespace freshet::bench
