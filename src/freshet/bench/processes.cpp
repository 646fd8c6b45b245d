// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/processes.h"

#include "freshet/platform/thread.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
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

namespace {

/// The first byte says whether it succeeded.
void writeOutcome(int to, const StatusOr<std::string>& outcome) {
    const std::string text =
        outcome.isOk() ? "+" + *outcome : "-" + std::string(outcome.status().text());
    for (size_t done = 0; done < text.size();) {
        const ssize_t wrote = ::write(to, text.data() + done, text.size() - done);
        if (wrote <= 0) {
            return;  // the reader notices that the text is incomplete
        }
        done += static_cast<size_t>(wrote);
    }
}

std::string readToEnd(int from) {
    std::string text;
    char piece[4096];
    ssize_t got = 0;
    while ((got = ::read(from, piece, sizeof(piece))) > 0) {
        text.append(piece, static_cast<size_t>(got));
    }
    return text;
}

}  // namespace

StatusOr<std::string> runInChild(const std::function<StatusOr<std::string>()>& body,
                                 unsigned secondsMax) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        return systemError("Cannot make a pipe", errno);
    }
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::alarm(secondsMax);
        writeOutcome(ends[1], body());
        ::_exit(0);
    }
    const int error = errno;
    ::close(ends[1]);
    const std::string text = pid > 0 ? readToEnd(ends[0]) : std::string();
    ::close(ends[0]);
    if (pid < 0) {
        return systemError("Cannot fork", error);
    }
    int ended = 0;
    ::waitpid(pid, &ended, 0);
    if (ended != 0 || text.empty()) {
        return Status(Code::kIo,
                      WIFSIGNALED(ended)
                          ? std::string("ended by signal ") + ::strsignal(WTERMSIG(ended))
                          : std::string("ended without a result"));
    }
    return text[0] == '+' ? StatusOr<std::string>(text.substr(1))
                          : StatusOr<std::string>(Status(Code::kIo, text.substr(1)));
}

StatusOr<std::string> outputOf(const std::vector<std::string>& arguments) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        return systemError("Cannot make a pipe", errno);
    }
    std::vector<char*> words;
    for (const std::string& argument : arguments) {
        words.push_back(const_cast<char*>(argument.c_str()));
    }
    words.push_back(nullptr);
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::dup2(ends[1], STDOUT_FILENO);
        ::execv(words[0], words.data());
        ::_exit(127);
    }
    const int error = errno;
    ::close(ends[1]);
    std::string text = pid > 0 ? readToEnd(ends[0]) : std::string();
    ::close(ends[0]);
    if (pid < 0) {
        return systemError("Cannot fork", error);
    }
    int ended = 0;
    ::waitpid(pid, &ended, 0);
    if (ended != 0) {
        return Status(Code::kIo, arguments[0] + " is not there, or has failed");
    }
    return text;
}

StatusOr<std::unique_ptr<TemporaryFolder>> TemporaryFolder::make(const std::string& parent) {
    std::error_code error;
    std::string path =
        parent.empty() ? std::filesystem::temp_directory_path(error).string() : parent;
    path += "/freshet-bench-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) {
        return Status(Code::kIo, "Cannot make a folder like " + path);
    }
    return std::make_unique<TemporaryFolder>(path);
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

namespace {

/// From /proc/PID/stat.
struct ProcessTimes {
    int64_t parent = 0;
    uint64_t own = 0;     // user and system time, in ticks
    uint64_t reaped = 0;  // the same for children that have ended
};

StatusOr<ProcessTimes> timesOf(const std::string& pid) {
    std::ifstream file("/proc/" + pid + "/stat");
    std::string line;
    std::getline(file, line);
    // The second field is the name in parentheses, which may contain any character; utime is field
    // 14.
    const size_t bracket = line.rfind(')');
    if (bracket == std::string::npos) {
        return Status(Code::kIo, "Cannot read the processor time of " + pid);
    }
    std::istringstream fields(line.substr(bracket + 1));
    ProcessTimes times;
    std::string skipped;
    fields >> skipped >> times.parent;
    for (int field = 5; field < 14; ++field) {
        fields >> skipped;
    }
    uint64_t user = 0, system = 0, reapedUser = 0, reapedSystem = 0;
    fields >> user >> system >> reapedUser >> reapedSystem;
    times.own = user + system;
    times.reaped = reapedUser + reapedSystem;
    return times;
}

uint64_t microsOfTicks(uint64_t ticks) {
    return ticks * 1'000'000u / static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

StatusOr<uint64_t> cpuMicrosOf(int64_t pid) {
    clockid_t clock = 0;
    timespec time{};
    if (::clock_getcpuclockid(static_cast<pid_t>(pid), &clock) != 0 ||
        ::clock_gettime(clock, &time) != 0) {
        return Status(Code::kIo, "Cannot read the processor time of " + std::to_string(pid));
    }
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000u +
           static_cast<uint64_t>(time.tv_nsec) / 1'000u;
}

StatusOr<uint64_t> cpuMicrosOfFamily(int64_t pid) {
    FRESHET_ASSIGN_OR_RETURN(const ProcessTimes head, timesOf(std::to_string(pid)));
    uint64_t ticks = head.own + head.reaped;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
        const std::string name = entry.path().filename().string();
        const bool isProcess = name.find_first_not_of("0123456789") == std::string::npos;
        // A process that has just ended no longer exists.
        StatusOr<ProcessTimes> times =
            isProcess ? timesOf(name) : Status(Code::kNotFound, "not a process");
        if (times.isOk() && times->parent == pid) {
            ticks += times->own + times->reaped;
        }
    }
    return microsOfTicks(ticks);
}

std::string programOf(int64_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
    std::string name;
    std::getline(file, name);
    return name;
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
