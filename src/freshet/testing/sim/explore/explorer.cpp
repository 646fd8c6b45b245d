// SPDX-License-Identifier: Apache-2.0
/// The loop over executions, and the report of the one that failed.
#ifdef FRESHET_EXPLORE
#include "freshet/testing/sim/explorer.h"

#include "freshet/platform/thread.h"
#include "freshet/testing/sim/explore/inside.h"
#include "freshet/testing/sim/seed.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace freshet::testing {
namespace {

constexpr size_t kTraceLinesMax = 150;
const Chooser* chooserOnCrash = nullptr;
const SharedWords* sharedOnCrash = nullptr;

/// The process dies inside a model (an invariant, a null pointer): prints the schedule that leads
/// there.
void onCrash(int signal) {
    if (const Chooser* chooser = std::exchange(chooserOnCrash, nullptr)) {
        Quarantine::pause();
        std::string text =
            "explorer: died in the schedule FRESHET_SCHEDULE=" + chooser->schedule() +
            sharedOnCrash->toText() + "\n";
        static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
    }
    ::signal(signal, SIG_DFL);
    ::raise(signal);
}

class CrashReporter {
public:
    CrashReporter(const Chooser& chooser, const SharedWords& shared) {
        chooserOnCrash = &chooser;
        sharedOnCrash = &shared;
        stack_t alternate{};
        alternate.ss_sp = stack_;
        alternate.ss_size = sizeof(stack_);
        ::sigaltstack(&alternate, nullptr);
        struct sigaction action {};
        action.sa_handler = onCrash;
        action.sa_flags = SA_ONSTACK | SA_NODEFER;
        for (size_t i = 0; i < 2; ++i) {
            ::sigaction(kSignals[i], &action, &before_[i]);
        }
    }
    ~CrashReporter() {
        for (size_t i = 0; i < 2; ++i) {
            ::sigaction(kSignals[i], &before_[i], nullptr);
        }
        chooserOnCrash = nullptr;
    }
    CrashReporter(const CrashReporter&) = delete;
    CrashReporter& operator=(const CrashReporter&) = delete;

private:
    static constexpr int kSignals[2] = {SIGABRT, SIGSEGV};
    static inline char stack_[64 * 1024];
    struct sigaction before_[2];
};

uint64_t seedOf(const ExploreOptions& options) {
    return options.seed != 0 ? options.seed : testSeed();
}

/// Runs the failed schedule once more to record its steps.
std::string traceOf(ExploreOptions options,
                    const std::string& schedule,
                    Reused& reused,
                    const std::function<void(Model&)>& setup) {
    options.replay = schedule;
    Chooser chooser(options, 0);
    SharedWords shared;
    shared.parse(schedule.substr(std::min(schedule.find('@'), schedule.size())));
    chooser.next();
    Execution execution(options, chooser, shared, reused, true);
    execution.run(setup);
    const auto& lines = execution.trace();
    std::string text;
    size_t first = lines.size() > kTraceLinesMax ? lines.size() - kTraceLinesMax : 0;
    for (size_t i = first; i < lines.size(); ++i) {
        text += lines[i] + "\n";
    }
    return text;
}

}  // namespace

ExploreResult explore(const ExploreOptions& given, const std::function<void(Model&)>& setup) {
    ExploreOptions options = given;
    if (const char* schedule = std::getenv("FRESHET_SCHEDULE")) {
        options.replay = schedule;
    }
    ExploreResult result;
    result.seed = seedOf(options);
    Chooser chooser(options, result.seed);
    Reused reused;
    SharedWords shared;
    shared.parse(options.replay.substr(std::min(options.replay.find('@'), options.replay.size())));
    CrashReporter reporter(chooser, shared);
    while (result.passed() && chooser.next()) {
        Execution execution(options, chooser, shared, reused, false);
        result.failure = execution.run(setup);
        ++result.executions;
        result.stepsLongest = std::max(result.stepsLongest, execution.steps());
        chooser.noteSteps(execution.steps());
        if (result.passed() && shared.settle() && chooser.isExhaustive()) {
            chooser.restart();
        }
    }
    result.complete = chooser.isComplete();
    std::ostringstream report;
    if (!result.passed()) {
        result.schedule = chooser.schedule() + shared.toText();
        report << result.failure << "\n"
               << traceOf(options, result.schedule, reused, setup)
               << "replay with FRESHET_SCHEDULE=" << result.schedule << "\n";
    }
    report << result.executions << " executions, longest " << result.stepsLongest << " steps, seed "
           << result.seed << (result.complete ? ", complete" : "") << "\n";
    result.report = report.str();
    return result;
}

void Model::name(const void* word, std::string text) {
    Execution::current().nameWord(word, std::move(text));
}

void check(bool condition, const char* what) {
    if (!condition) {
        Execution::current().fail(std::string("check failed: ") + what);
    }
}

void waitUntil(std::function<bool()> condition) {
    Execution::current().waitUntil(std::move(condition));
}

Uninterrupted::Uninterrupted() {
    Execution::current().setUninterrupted(1);
}

Uninterrupted::~Uninterrupted() {
    Execution::current().setUninterrupted(-1);
}

}  // namespace freshet::testing
#endif
