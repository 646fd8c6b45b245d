// SPDX-License-Identifier: Apache-2.0
#include "freshet/shell/host/host.h"

#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"
#include "freshet/shell/host/arguments.h"
#include "freshet/shell/host/editor.h"
#include "freshet/shell/host/files.h"
#include "freshet/shell/host/processes.h"
#include "freshet/shell/load/load.h"
#include "freshet/shell/process/interrupts.h"
#include "freshet/shell/process/options.h"
#include "freshet/shell/process/password.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <ostream>

namespace freshet::shell {

using script::Value;

std::string describeLink(const Link& link, int32_t handle) {
    bson::Builder about;
    about.add("handle", handle);
    about.add("uri", "mongodb://" + link.where().whereText() + "/" + link.where().database);
    about.add("host", link.where().whereText());
    about.add("database", link.where().database);
    about.add("isDirect", link.where().others.empty() && link.where().replicaSet.empty());
    if (link.isOpen()) {
        about.add("member", link.hello());
    }
    {
        bson::Builder options = about.object("options");
        for (const auto& [name, value] : link.where().ofCommands) {
            options.add(name, value);
        }
    }
    return about.finish();
}

Status Host::define(script::Context& context) {
    context_ = &context;
    struct Named {
        const char* name;
        Function function;
    };
    constexpr Named kFunctions[] = {
        {"connect", &Host::connect},
        {"run", &Host::run},
        {"close", &Host::close},
        {"logIn", &Host::logIn},
        {"print", &Host::print},
        {"printError", &Host::printError},
        {"quit", &Host::quit},
        {"sleep", &Host::sleep},
        {"environment", &Host::environment},
        {"hostName", &Host::hostName},
        {"memory", &Host::memory},
        {"commandLine", &Host::commandLine},
        {"terminalColumns", &Host::terminalColumns},
        {"version", &Host::version},
        {"askPassword", &Host::askForPassword},
        {"runLoad", &Host::runOperations},
    };
    for (const Named& named : kFunctions) {
        FRESHET_RETURN_IF_ERROR(
            context.define(named.name, [this, function = named.function](bson::Document arguments) {
                return (this->*function)(arguments);
            }));
    }
    FRESHET_RETURN_IF_ERROR(defineFiles(context));
    FRESHET_RETURN_IF_ERROR(defineEditor(context));
    return defineProcesses(context);
}

StatusOr<Link*> Host::linkOf(const bson::Element& handle) {
    const auto number = static_cast<int32_t>(handle.toInt64());
    if (number == 0) {
        return &first_;
    }
    auto found = links_.find(number);
    if (found == links_.end()) {
        return badValue("this connection is closed");
    }
    return found->second.get();
}

StatusOr<Value> Host::connect(bson::Document arguments) {
    const std::string uri = textAt(arguments, 0);
    client::ConnectionString where = first_.where();
    if (!uri.empty()) {
        FRESHET_ASSIGN_OR_RETURN(where, client::ConnectionString::parse(uri));
    }
    auto link = std::make_unique<Link>(where, hasSessions_);
    FRESHET_RETURN_IF_ERROR(link->open());
    const int32_t handle = ++lastHandle_;
    const std::string about = describeLink(*link, handle);
    links_[handle] = std::move(link);
    return Value::of(bson::Document(about));
}

StatusOr<Value> Host::run(bson::Document arguments) {
    const bson::Element command = argumentAt(arguments, 2);
    if (!command.isObject()) {
        return badValue("a command must be an object");
    }
    FRESHET_ASSIGN_OR_RETURN(Link * link, linkOf(argumentAt(arguments, 0)));
    FRESHET_ASSIGN_OR_RETURN(const bson::OwnedDocument reply,
                             link->run(textAt(arguments, 1), command.document()));
    return Value::of(reply.view());
}

StatusOr<Value> Host::close(bson::Document arguments) {
    FRESHET_ASSIGN_OR_RETURN(Link * link, linkOf(argumentAt(arguments, 0)));
    link->close();
    return Value();
}

/// logIn(handle, user, password, database, mechanism)
StatusOr<Value> Host::logIn(bson::Document arguments) {
    FRESHET_ASSIGN_OR_RETURN(Link * link, linkOf(argumentAt(arguments, 0)));
    client::ConnectionString where = link->where();
    where.username = textAt(arguments, 1);
    where.password = textAt(arguments, 2);
    where.authSource = textAt(arguments, 3);
    where.authMechanism = textAt(arguments, 4);
    FRESHET_RETURN_IF_ERROR(link->logIn(where));
    return Value::of(true);
}

StatusOr<Value> Host::print(bson::Document arguments) {
    out_ << textAt(arguments, 0) << std::flush;
    return Value();
}

StatusOr<Value> Host::printError(bson::Document arguments) {
    err_ << textAt(arguments, 0) << std::flush;
    return Value();
}

/// Ends the script, which cannot catch this.
StatusOr<Value> Host::quit(bson::Document arguments) {
    constexpr int kCodeMask = 0xff;
    exitCode_ = static_cast<int>(argumentAt(arguments, 0).toInt64()) & kCodeMask;
    context_->interrupt();
    return Value();
}

StatusOr<Value> Host::sleep(bson::Document arguments) {
    constexpr uint64_t kStepMs = 20;
    constexpr uint64_t kNanosPerMs = 1'000'000;
    const auto ms = static_cast<uint64_t>(std::max<int64_t>(0, argumentAt(arguments, 0).toInt64()));
    const uint64_t due = platform::monotonicNanos() + ms * kNanosPerMs;
    while (!wasInterrupted()) {
        const uint64_t now = platform::monotonicNanos();
        if (now >= due) {
            break;
        }
        platform::sleepUntilNanos(std::min(due, now + kStepMs * kNanosPerMs));
    }
    return Value();
}

StatusOr<Value> Host::environment(bson::Document arguments) {
    const char* value = std::getenv(textAt(arguments, 0).c_str());
    return value == nullptr ? Value() : Value::of(value);
}

StatusOr<Value> Host::hostName(bson::Document) {
    return Value::of(platform::hostName());
}

StatusOr<Value> Host::memory(bson::Document) {
    bson::Builder holder;
    {
        bson::Builder about = holder.object("");
        about.add("rss", static_cast<double>(platform::residentBytes()));
        about.add("resident", static_cast<double>(platform::residentBytes() >> 20));
        about.add("heapUsed", static_cast<double>(context_->heapBytes()));
    }
    return Value(bson::OwnedDocument(holder.finish()));
}

/// As process.argv: the program twice, since Node names a script second.
StatusOr<Value> Host::commandLine(bson::Document) {
    std::ifstream in("/proc/self/cmdline", std::ios::binary);
    bson::Builder holder;
    {
        bson::Builder all = holder.array("");
        bool isFirst = true;
        for (std::string word; std::getline(in, word, '\0'); isFirst = false) {
            all.push(word);
            if (isFirst) {
                all.push(word);
            }
        }
    }
    return Value(bson::OwnedDocument(holder.finish()));
}

/// 0: output goes to no terminal.
StatusOr<Value> Host::terminalColumns(bson::Document) {
    winsize size{};
    const bool isKnown =
        ::isatty(STDOUT_FILENO) != 0 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    return Value::of(isKnown ? static_cast<int32_t>(size.ws_col) : int32_t{0});
}

StatusOr<Value> Host::version(bson::Document) {
    return Value::of(versionNumber());
}

StatusOr<Value> Host::askForPassword(bson::Document arguments) {
    const std::optional<std::string> word = askPassword(textAt(arguments, 0));
    if (!word.has_value()) {
        return Status(Code::kUnavailable, "there is no terminal to ask at");
    }
    return Value::of(*word);
}

/// runLoad(handle, config): load.h
StatusOr<Value> Host::runOperations(bson::Document arguments) {
    FRESHET_ASSIGN_OR_RETURN(Link * link, linkOf(argumentAt(arguments, 0)));
    const bson::Element config = argumentAt(arguments, 1);
    if (!config.isObject()) {
        return badValue("benchRun needs an object");
    }
    FRESHET_ASSIGN_OR_RETURN(const bson::OwnedDocument result,
                             runLoad(link->where(), config.document()));
    return Value::of(result.view());
}

}  // namespace freshet::shell
