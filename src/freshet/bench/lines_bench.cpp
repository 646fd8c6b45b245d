// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/lines_bench.h"

#include "freshet/bench/arguments.h"
#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"
#include "freshet/sync/atomic.h"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace freshet::bench {
namespace {

constexpr int kTries = 5;
constexpr uint64_t kRounds = 2'000'000;

/// A word on a cache line of its own.
struct alignas(128) Line {
    sync::Atomic<uint64_t> word{0};
};

/// Returns the nanoseconds from the moment both threads run until both have returned from
/// `body(self)`.
template <typename Body>
uint64_t timeBoth(const Body& body) {
    Line arrived;
    uint64_t nanos[2] = {0, 0};
    const auto run = [&](unsigned self) {
        platform::pinToCore(self);
        // [lines.start] relaxed: only the moment matters, no data. Spins: two processors, two
        // threads.
        arrived.word.fetch_add(1, sync::kRelaxed);
        while (arrived.word.load(sync::kRelaxed) != 2) {
        }
        const uint64_t begin = platform::monotonicNanos();
        body(self);
        nanos[self] = platform::monotonicNanos() - begin;
    };
    platform::Thread other("lines", [&] { run(1); });
    platform::Thread one("lines", [&] { run(0); });
    one.join();
    other.join();
    return std::max(nanos[0], nanos[1]);
}

uint64_t timeAdditions(uint64_t rounds, Line* first, Line* second) {
    return timeBoth([&](unsigned self) {
        Line* line = self == 0 ? first : second;
        for (uint64_t i = 0; i < rounds; ++i) {
            line->word.fetch_add(1, sync::kRelaxed);  // [lines.add] relaxed: only its cost matters
        }
    });
}

uint64_t timeExchanges(uint64_t rounds, Line* line) {
    return timeBoth([&](unsigned self) {
        for (uint64_t i = 0; i < rounds; ++i) {
            const uint64_t mine = 2 * i + self;
            // [lines.pass] acquire and release: each change comes after the one before, as where a
            // slot or a clock is passed on.
            while (line->word.load(sync::kAcquire) != mine) {
            }
            line->word.store(mine + 1, sync::kRelease);
        }
    });
}

double median(std::vector<uint64_t> nanos, uint64_t count) {
    std::sort(nanos.begin(), nanos.end());
    return static_cast<double>(nanos[nanos.size() / 2]) / static_cast<double>(count);
}

}  // namespace

StatusOr<LineCosts> measureLines(uint64_t rounds) {
    if (platform::coreCount() < 2) {
        return badValue("What passes between processors cannot be measured on one");
    }
    std::vector<uint64_t> own;
    std::vector<uint64_t> contended;
    std::vector<uint64_t> transfers;
    for (int i = 0; i < kTries; ++i) {
        Line lines[3];
        own.push_back(timeAdditions(rounds, &lines[0], &lines[1]));
        contended.push_back(timeAdditions(rounds, &lines[0], &lines[0]));
        transfers.push_back(timeExchanges(rounds, &lines[2]));
    }
    return LineCosts{
        median(own, rounds), median(contended, 2 * rounds), median(transfers, 2 * rounds)};
}

Status runLinesBench() {
    FRESHET_ASSIGN_OR_RETURN(const LineCosts costs, measureLines(kRounds));
    std::printf("{\"own_ns\": %.1f, \"contended_ns\": %.1f, \"transfer_ns\": %.1f}\n",
                costs.own,
                costs.contended,
                costs.transfer);
    return Status::ok();
}

std::string_view linesUsage() {
    return R"(usage: freshet-bench lines
What a cache line costs that two processors change in turns, in nanoseconds.
)";
}

}  // namespace freshet::bench
