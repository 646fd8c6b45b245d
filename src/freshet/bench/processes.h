// SPDX-License-Identifier: Apache-2.0
/// Child processes, their cost, and folders for their files. One thread.
#pragma once

#include "freshet/base/status.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace freshet::bench {

/// A running program. The destructor ends it with SIGTERM, and after ten seconds with SIGKILL.
class ChildProcess {
public:
    /// `arguments` begins with the program's path. Its output goes to `logPath`.
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

/// Runs `body` in a copy of this process, which ends without cleaning up, and returns its result. A
/// copy that crashes or takes longer than `secondsMax` is a failure. REQUIRES: no other threads.
StatusOr<std::string> runInChild(const std::function<StatusOr<std::string>()>& body,
                                 unsigned secondsMax);

/// Returns what a program writes to its standard output; `arguments` begins with its path. kIo
/// unless it exits with 0.
StatusOr<std::string> outputOf(const std::vector<std::string>& arguments);

/// A folder that the destructor removes.
class TemporaryFolder {
public:
    /// Created in `parent`, or in the system's temporary folder if `parent` is empty.
    static StatusOr<std::unique_ptr<TemporaryFolder>> make(const std::string& parent);
    explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
    ~TemporaryFolder();
    const std::string& path() const { return path_; }

private:
    const std::string path_;
};

/// User and system time of all the process's threads so far.
StatusOr<uint64_t> cpuMicrosOf(int64_t pid);
/// The same for the process and its children, including those that have ended, from /proc, in steps
/// of 10 ms.
StatusOr<uint64_t> cpuMicrosOfFamily(int64_t pid);
/// The name of the program that runs as `pid` on this machine; empty if there is none.
std::string programOf(int64_t pid);
/// The process's resident set in bytes.
StatusOr<uint64_t> residentBytesOf(int64_t pid);
/// Raises the limit of open files to the hard limit. Best effort.
void raiseFileLimit();
/// A loopback port that was free just now.
StatusOr<uint16_t> freePort();
/// The folder of the running program.
std::string programFolder();

}  // namespace freshet::bench
