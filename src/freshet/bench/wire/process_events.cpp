// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/wire/process_events.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace freshet::bench {
namespace {

/// False when the system has no such event.
bool describe(ProcessEvent event, perf_event_attr* out) {
    out->size = sizeof(*out);
    out->inherit = 1;
    if (event == ProcessEvent::kInstruction) {
        out->type = PERF_TYPE_HARDWARE;
        out->config = PERF_COUNT_HW_INSTRUCTIONS;
        out->exclude_kernel = 1;
        return true;
    }
    out->type = PERF_TYPE_TRACEPOINT;
    for (const char* folder : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
        std::ifstream id(std::string(folder) + "/events/raw_syscalls/sys_enter/id");
        if (uint64_t number = 0; id >> number) {
            out->config = number;
            return true;
        }
    }
    return false;
}

int open(perf_event_attr* attributes, int64_t thread) {
    return static_cast<int>(
        ::syscall(SYS_perf_event_open, attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace

ProcessEvents::ProcessEvents(int64_t pid, ProcessEvent event) {
    perf_event_attr attributes{};
    if (pid == 0 || !describe(event, &attributes)) {
        return;
    }
    std::error_code error;
    const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
    for (const auto& task : std::filesystem::directory_iterator(tasks, error)) {
        const int descriptor = open(&attributes, std::stoll(task.path().filename().string()));
        if (descriptor < 0) {
            isWhole_ = false;
            return;
        }
        descriptors_.push_back(descriptor);
        isWhole_ = true;
    }
}

ProcessEvents::~ProcessEvents() {
    for (int descriptor : descriptors_) {
        ::close(descriptor);
    }
}

std::optional<uint64_t> ProcessEvents::read() const {
    uint64_t total = 0;
    for (int descriptor : descriptors_) {
        uint64_t count = 0;
        if (::read(descriptor, &count, sizeof(count)) != sizeof(count)) {
            return std::nullopt;
        }
        total += count;
    }
    return isWhole_ ? std::optional(total) : std::nullopt;
}

}  // namespace freshet::bench
