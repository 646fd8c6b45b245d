// SPDX-License-Identifier: Apache-2.0
#include "freshet/command/run/statistics.h"

#include <algorithm>
#include <iterator>
#include <mutex>

namespace freshet::command {
namespace {

/// As many indexes as a collection may have, and as many dropped ones.
constexpr size_t kIndexesCounted = 128;

}  // namespace

LatencyClass latencyClassOf(const Command& command) {
    switch (command.kind) {
        case OpKind::kInsert:
        case OpKind::kUpdate:
        case OpKind::kDelete:
            return LatencyClass::kWrites;
        case OpKind::kQuery:
        case OpKind::kGetMore:
            return LatencyClass::kReads;
        case OpKind::kCommand:
            break;
    }
    if (command.name == "findAndModify" || command.name == "bulkWrite") {
        return LatencyClass::kWrites;
    }
    return command.takesReadConcern ? LatencyClass::kReads : LatencyClass::kCommands;
}

void Top::add(const Top& other) {
    total.add(other.total);
    for (size_t i = 0; i < classes.size(); ++i) {
        classes[i].add(other.classes[i]);
    }
    for (size_t i = 0; i < kinds.size(); ++i) {
        kinds[i].add(other.kinds[i]);
    }
    for (const IndexUse& use : other.indexes) {
        addIndexUse(use.tree, use.count);
    }
}

void Top::addIndexUse(uint32_t tree, uint64_t count) {
    for (IndexUse& use : indexes) {
        if (use.tree == tree) {
            use.count += count;
            return;
        }
    }
    if (indexes.size() == kIndexesCounted) {
        // The oldest tree is most likely the one that was dropped.
        indexes.erase(std::min_element(
            indexes.begin(), indexes.end(), [](const IndexUse& a, const IndexUse& b) {
                return a.tree < b.tree;
            }));
    }
    indexes.push_back({tree, count});
}

uint64_t Top::usesOf(uint32_t tree) const {
    uint64_t sum = 0;
    for (const IndexUse& use : indexes) {
        sum += use.tree == tree ? use.count : 0;
    }
    return sum;
}

Statistics::Statistics(size_t commandCount) {
    for (Stripe& stripe : stripes_) {
        stripe.commands = std::vector<sync::Atomic<uint64_t>>(2 * commandCount);
    }
}

void Statistics::ended(size_t command, LatencyClass kind, uint64_t micros, bool hasFailed) {
    const StripePlace place = StripePlace::mine();
    Stripe& stripe = stripes_[place.at];
    place.bump(stripe.commands[2 * command], 1);
    if (hasFailed) {
        place.bump(stripe.commands[2 * command + 1], 1);
        place.bump(stripe.counters[static_cast<size_t>(Counter::kUserErrors)], 1);
    }
    place.bump(stripe.latencies[2 * static_cast<size_t>(kind)], 1);
    place.bump(stripe.latencies[2 * static_cast<size_t>(kind) + 1], micros);
}

/// Usually the same one as last time.
Top* Statistics::Stripe::lookUp(std::string_view db, std::string_view collection) {
    const std::string_view known = ns;
    if (last != nullptr && known.size() == db.size() + 1 + collection.size() &&
        known.starts_with(db) && known[db.size()] == '.' && known.ends_with(collection)) {
        return last;
    }
    if (db.size() + collection.size() > kNamespaceBytesMax) {
        return nullptr;
    }
    ns.assign(db).append(1, '.').append(collection);
    auto found = top.find(ns);
    if (found == top.end()) {
        if (top.size() >= kCollectionsMax) {
            forgetHalf();
        }
        found = top.emplace(ns, Top{}).first;
    }
    last = &found->second;
    return last;
}

void Statistics::Stripe::forgetHalf() {
    std::vector<uint64_t> counts;
    counts.reserve(top.size());
    for (const auto& [name, use] : top) {
        counts.push_back(use.total.count);
    }
    const size_t half = counts.size() / 2;
    std::nth_element(counts.begin(), counts.begin() + static_cast<ptrdiff_t>(half), counts.end());
    const uint64_t most = counts[half];
    for (auto it = top.begin(); it != top.end() && top.size() > half;) {
        it = it->second.total.count <= most ? top.erase(it) : std::next(it);
    }
}

void Statistics::touched(std::string_view db,
                         std::string_view collection,
                         OpKind kind,
                         LatencyClass latency,
                         uint64_t micros,
                         uint32_t usedTree) {
    Stripe& stripe = stripes_[StripePlace::mine().at];
    std::lock_guard<sync::Mutex> lock(stripe.mutex);
    Top* top = stripe.lookUp(db, collection);
    if (top == nullptr) {
        return;
    }
    top->total.add(micros);
    top->classes[static_cast<size_t>(latency)].add(micros);
    top->kinds[static_cast<size_t>(kind)].add(micros);
    if (usedTree != 0) {
        top->addIndexUse(usedTree, 1);
    }
}

void Statistics::add(Counter counter, uint64_t by) {
    const StripePlace place = StripePlace::mine();
    place.bump(stripes_[place.at].counters[static_cast<size_t>(counter)], by);
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

Top Statistics::topOf(const std::string& ns) const {
    Top result;
    for (const Stripe& stripe : stripes_) {
        std::lock_guard<sync::Mutex> lock(stripe.mutex);
        if (const auto found = stripe.top.find(ns); found != stripe.top.end()) {
            result.add(found->second);
        }
    }
    return result;
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
