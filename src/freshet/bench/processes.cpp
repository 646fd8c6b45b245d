// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/processes.h"

#include "freshet/platform/thread.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

namespace freshet::bench {
namespace {

Status systemError(const std::string& what, int error) {
    return Status(Code::kIo, what + ": " + std::strerror(error));
}

}  // namespace

StatusOr<ChildProcess> ChildProcess::start(const std::vector<std::string>& arguments,
                                           const std::string& logPath) {
    std::vector<char*> argv;
    for (const std::string& argument : arguments) {
        argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(
        &actions, STDOUT_FILENO, logPath.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    pid_t pid = 0;
    const int error = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        return systemError("Cannot start " + arguments[0], error);
    }
    ChildProcess child;
    child.pid_ = pid;
    return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
    std::swap(pid_, other.pid_);
    return *this;
}

bool ChildProcess::isRunning() {
    if (pid_ != 0 && ::waitpid(static_cast<pid_t>(pid_), nullptr, WNOHANG) != 0) {
        pid_ = 0;
    }
    return pid_ != 0;
}

void ChildProcess::stop() {
    if (pid_ == 0) {
        return;
    }
    ::kill(static_cast<pid_t>(pid_), SIGTERM);
    constexpr int kTries = 1'000;
    for (int i = 0; i < kTries && isRunning(); ++i) {
        platform::sleepMillis(10);
    }
    if (pid_ != 0) {
        ::kill(static_cast<pid_t>(pid_), SIGKILL);
        ::waitpid(static_cast<pid_t>(pid_), nullptr, 0);
        pid_ = 0;
    }
}

StatusOr<uint64_t> cpuMicrosOf(int64_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    std::getline(file, line);
    // The second field is the name in brackets, which may hold anything; utime is the 14th.
    const size_t bracket = line.rfind(')');
    if (bracket == std::string::npos) {
        return Status(Code::kIo, "Cannot read the processor time of " + std::to_string(pid));
    }
    std::istringstream fields(line.substr(bracket + 1));
    std::string skipped;
    for (int field = 3; field < 14; ++field) {
        fields >> skipped;
    }
    uint64_t user = 0, system = 0;
    fields >> user >> system;
    return (user + system) * 1'000'000u / static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
}

StatusOr<uint64_t> residentBytesOf(int64_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
    uint64_t all = 0, resident = 0;
    if (!(file >> all >> resident)) {
        return Status(Code::kIo, "Cannot read the memory of process " + std::to_string(pid));
    }
    return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

void raiseFileLimit() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

StatusOr<uint16_t> freePort() {
    const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    const bool found = descriptor >= 0 && ::bind(descriptor, generic, bytes) == 0 &&
                       ::getsockname(descriptor, generic, &bytes) == 0;
    const int error = errno;
    ::close(descriptor);
    if (!found) {
        return systemError("Cannot find a free port", error);
    }
    return ntohs(address.sin_port);
}

std::string programFolder() {
    std::error_code ignored;
    return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().string();
}

}  // namespace freshet::bench
