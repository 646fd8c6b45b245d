// SPDX-License-Identifier: Apache-2.0
/// Child processes, what they cost, and folders for their files. One thread.
#pragma once

#include "freshet/base/status.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace freshet::bench {

/// A running program; ended with SIGTERM (after ten seconds SIGKILL) when this dies.
class ChildProcess {
public:
    /// `arguments` starts with the program's path. Its output goes to `logPath`.
    static StatusOr<ChildProcess> start(const std::vector<std::string>& arguments,
                                        const std::string& logPath);
    ChildProcess() = default;
    ChildProcess(ChildProcess&& other) noexcept;
    ChildProcess& operator=(ChildProcess&& other) noexcept;
    ~ChildProcess() { stop(); }
    void stop();
    bool isRunning();
    int64_t pid() const { return pid_; }

private:
    int64_t pid_ = 0;
};

/// What `body` returns when run in a copy of this process, which ends without cleaning up. A copy
/// that crashes, or takes longer than `secondsMax`, is a failure. REQUIRES: no other threads.
StatusOr<std::string> runInChild(const std::function<StatusOr<std::string>()>& body,
                                 unsigned secondsMax);

/// What a program writes to its standard output; `arguments` starts with its path. kIo unless it
/// ends with 0.
StatusOr<std::string> outputOf(const std::vector<std::string>& arguments);

/// A folder that goes when this dies.
class TemporaryFolder {
public:
    /// In `parent`, or where the system has such things when that is empty.
    static StatusOr<std::unique_ptr<TemporaryFolder>> make(const std::string& parent);
    explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
    ~TemporaryFolder();
    const std::string& path() const { return path_; }

private:
    const std::string path_;
};

/// User and system time of all the process's threads so far, from /proc. Steps of 10 ms.
StatusOr<uint64_t> cpuMicrosOf(int64_t pid);
/// The same for the process with its children, those that have ended included.
StatusOr<uint64_t> cpuMicrosOfFamily(int64_t pid);
/// The name of the program that runs as `pid` on this machine; empty when there is none.
std::string programOf(int64_t pid);
/// The process's resident set in bytes.
StatusOr<uint64_t> residentBytesOf(int64_t pid);
/// As many open files as the hard limit allows. Best effort.
void raiseFileLimit();
/// A loopback port nobody listened on just now.
StatusOr<uint16_t> freePort();
/// The folder of the running program.
std::string programFolder();

}  // namespace freshet::bench
