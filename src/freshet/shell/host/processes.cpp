// SPDX-License-Identifier: Apache-2.0
#include "freshet/shell/host/processes.h"

#include "freshet/shell/host/arguments.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <vector>

extern char** environ;

namespace freshet::shell {

namespace {

using script::Value;

Status failedWith(const std::string& what, int error) {
    return Status(Code::kIo, what + ": " + std::strerror(error));
}

/// startProcess([program, arguments...], logPath, inputPath): the process id. Its output goes to
/// the file, or to the shell's output when the path is empty; its input is the other file, or
/// empty.
StatusOr<Value> startProcess(bson::Document arguments) {
    const bson::Element list = argumentAt(arguments, 0);
    std::vector<std::string> words;
    if (list.isArray()) {
        for (const bson::Element& word : list.document()) {
            words.emplace_back(word.isString() ? word.stringValue() : "");
        }
    }
    if (words.empty()) {
        return badValue("startProcess needs a program");
    }
    std::vector<char*> raw;
    for (std::string& word : words) {
        raw.push_back(word.data());
    }
    raw.push_back(nullptr);
    const std::string log = textAt(arguments, 1);
    const std::string input = textAt(arguments, 2);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(
        &actions, STDIN_FILENO, input.empty() ? "/dev/null" : input.c_str(), O_RDONLY, 0);
    if (!log.empty()) {
        constexpr mode_t kMode = 0644;
        posix_spawn_file_actions_addopen(
            &actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, kMode);
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    }
    pid_t child = 0;
    const int error = posix_spawnp(&child, raw[0], &actions, nullptr, raw.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    return error != 0 ? StatusOr<Value>(failedWith(words[0], error))
                      : Value::of(static_cast<int32_t>(child));
}

/// waitProcess(id, blocks): its exit code, minus the signal that ended it, or null while it runs.
StatusOr<Value> waitProcess(bson::Document arguments) {
    const auto id = static_cast<pid_t>(argumentAt(arguments, 0).toInt64());
    const bool blocks = argumentAt(arguments, 1).isTruthy();
    int status = 0;
    const pid_t ended = waitpid(id, &status, blocks ? 0 : WNOHANG);
    if (ended < 0) {
        return failedWith("process " + std::to_string(id), errno);
    }
    if (ended == 0) {
        return Value::of(bson::Null());
    }
    return Value::of(
        static_cast<int32_t>(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status)));
}

StatusOr<Value> signalProcess(bson::Document arguments) {
    const auto id = static_cast<pid_t>(argumentAt(arguments, 0).toInt64());
    const auto number = static_cast<int>(argumentAt(arguments, 1).toInt64());
    if (id <= 1) {
        return badValue("there is no such process of ours");
    }
    return Value::of(::kill(id, number) == 0);
}

/// A port on which nothing listens at this moment.
StatusOr<Value> freePort(bson::Document) {
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    const bool found = probe >= 0 &&
                       ::bind(probe, reinterpret_cast<sockaddr*>(&address), bytes) == 0 &&
                       ::getsockname(probe, reinterpret_cast<sockaddr*>(&address), &bytes) == 0;
    if (probe >= 0) {
        ::close(probe);
    }
    return found ? StatusOr<Value>(Value::of(static_cast<int32_t>(ntohs(address.sin_port))))
                 : Status(Code::kIo, "there is no free port");
}

StatusOr<Value> processId(bson::Document) {
    return Value::of(static_cast<int32_t>(::getpid()));
}

/// The path of this shell.
StatusOr<Value> ownProgram(bson::Document) {
    char path[4096];
    const ssize_t bytes = ::readlink("/proc/self/exe", path, sizeof path);
    return bytes > 0 ? StatusOr<Value>(Value::of(std::string(path, static_cast<size_t>(bytes))))
                     : Status(Code::kIo, "the path of this program is not known");
}

}  // namespace

Status defineProcesses(script::Context& context) {
    struct Named {
        const char* name;
        StatusOr<Value> (*function)(bson::Document);
    };
    constexpr Named kFunctions[] = {
        {"startProcess", &startProcess},
        {"waitProcess", &waitProcess},
        {"signalProcess", &signalProcess},
        {"freePort", &freePort},
        {"processId", &processId},
        {"ownProgram", &ownProgram},
    };
    for (const Named& named : kFunctions) {
        FRESHET_RETURN_IF_ERROR(context.define(named.name, named.function));
    }
    return Status::ok();
}

}  // namespace freshet::shell
