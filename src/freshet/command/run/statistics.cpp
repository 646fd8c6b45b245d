// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/run/statistics.h"

#include <mutex>

namespace freshet::command {
namespace {

void bump(sync::Atomic<uint64_t>& cell, uint64_t by) {
    // [statistics.add] ORDER relaxed: see Stripe.
    cell.fetch_add(by, sync::kRelaxed);
}

}  // namespace

size_t threadOrdinal() {
    /// STEPS rises by one with each thread that asks for the first time.
    static sync::Atomic<uint64_t> next{0};
    // [statistics.thread] ORDER relaxed: only that numbers differ counts.
    thread_local const size_t mine = next.fetch_add(1, sync::kRelaxed);
    return mine;
}

LatencyClass latencyClassOf(const Command& command) {
    switch (command.access.action) {
        case Action::kInsert:
        case Action::kUpdate:
        case Action::kRemove:
            return LatencyClass::kWrites;
        case Action::kFind:
            return LatencyClass::kReads;
        default:
            return command.kind == OpKind::kGetMore || command.takesReadConcern
                       ? LatencyClass::kReads
                       : LatencyClass::kCommands;
    }
}

void Top::add(const Top& other) {
    total.add(other.total);
    for (size_t i = 0; i < locks.size(); ++i) {
        locks[i].add(other.locks[i]);
    }
    for (size_t i = 0; i < kinds.size(); ++i) {
        kinds[i].add(other.kinds[i]);
    }
}

Statistics::Statistics(size_t commandCount) {
    for (Stripe& stripe : stripes_) {
        stripe.commands = std::vector<sync::Atomic<uint64_t>>(2 * commandCount);
    }
}

Statistics::Stripe& Statistics::mine() {
    return stripes_[threadOrdinal() % kStripes];
}

void Statistics::ended(size_t command, LatencyClass kind, uint64_t micros, bool hasFailed) {
    Stripe& stripe = mine();
    bump(stripe.commands[2 * command], 1);
    if (hasFailed) {
        bump(stripe.commands[2 * command + 1], 1);
        bump(stripe.counters[static_cast<size_t>(Counter::kUserErrors)], 1);
    }
    bump(stripe.latencies[2 * static_cast<size_t>(kind)], 1);
    bump(stripe.latencies[2 * static_cast<size_t>(kind) + 1], micros);
}

void Statistics::touched(const std::string& ns,
                         OpKind kind,
                         LatencyClass latency,
                         uint64_t micros) {
    Stripe& stripe = mine();
    std::lock_guard<sync::Mutex> lock(stripe.mutex);
    auto found = stripe.top.find(ns);
    if (found == stripe.top.end()) {
        if (stripe.top.size() >= kCollectionsMax) {
            return;
        }
        found = stripe.top.emplace(ns, Top{}).first;
    }
    Top& top = found->second;
    top.total.add(micros);
    top.locks[latency == LatencyClass::kReads ? 0 : 1].add(micros);
    top.kinds[static_cast<size_t>(kind)].add(micros);
}

void Statistics::add(Counter counter, uint64_t by) {
    bump(mine().counters[static_cast<size_t>(counter)], by);
}

template <typename Cell>
uint64_t Statistics::sum(Cell cell) const {
    uint64_t total = 0;
    for (const Stripe& stripe : stripes_) {
        // [statistics.sum] ORDER relaxed: see Stripe.
        total += cell(stripe).load(sync::kRelaxed);
    }
    return total;
}

Statistics::CommandTotals Statistics::ofCommand(size_t command) const {
    return {sum([&](const Stripe& s) -> auto& { return s.commands[2 * command]; }),
            sum([&](const Stripe& s) -> auto& { return s.commands[2 * command + 1]; })};
}

Effort Statistics::latency(LatencyClass kind) const {
    const size_t at = 2 * static_cast<size_t>(kind);
    return {sum([&](const Stripe& s) -> auto& { return s.latencies[at]; }),
            sum([&](const Stripe& s) -> auto& { return s.latencies[at + 1]; })};
}

uint64_t Statistics::total(Counter counter) const {
    return sum([&](const Stripe& s) -> auto& { return s.counters[static_cast<size_t>(counter)]; });
}

std::map<std::string, Top> Statistics::top() const {
    std::map<std::string, Top> result;
    for (const Stripe& stripe : stripes_) {
        std::lock_guard<sync::Mutex> lock(stripe.mutex);
        for (const auto& [ns, top] : stripe.top) {
            result[ns].add(top);
        }
    }
    return result;
}

}  // namespace freshet::command
