// SPDX-License-Identifier: Apache-2.0
#include "freshet/testing/sim/history.h"

#include "freshet/testing/sim/history/graph.h"

#include <algorithm>
#include <map>
#include <set>

namespace freshet::testing {
namespace {

using List = std::vector<uint32_t>;

bool continues(const List& list, const List& beginning) {
    return list.size() >= beginning.size() &&
           std::equal(beginning.begin(), beginning.end(), list.begin());
}

std::string textOf(const List& list) {
    std::string out = "[";
    for (uint32_t element : list) {
        out += (out.size() > 1 ? " " : "") + std::to_string(element);
    }
    return out + "]";
}

/// One transaction's accesses to one key.
struct Access {
    bool hasBase = false;
    List base;  // before its own appends
    List own;
};

class Checker {
public:
    explicit Checker(const std::vector<HistoryTxn>& history) : history_(history) {}

    HistoryReport check() {
        findWriters();
        accesses_.resize(history_.size());
        for (uint32_t txn = 0; txn < history_.size(); ++txn) {
            readOps(txn);
        }
        for (uint32_t txn = 0; txn < history_.size(); ++txn) {
            for (const auto& [key, access] : accesses_[txn]) {
                judgeBase(txn, key, access);
            }
        }
        findOrders();
        findLost();
        judgeCycles();
        return std::move(report_);
    }

private:
    struct Writer {
        uint32_t txn = 0;
        bool isLast = false;  // of this transaction's appends to the key
    };

    void note(AnomalyKind kind, const std::string& text) {
        constexpr int kEach = 3;
        if (noted_[kind]++ < kEach) {
            report_.anomalies.push_back({kind, text});
        }
    }
    static std::string nameOf(uint32_t txn) { return "T" + std::to_string(txn); }
    static std::string at(uint32_t txn, uint32_t key) {
        return nameOf(txn) + ", key " + std::to_string(key) + ": ";
    }

    void findWriters();
    void readOps(uint32_t txn);
    void judgeBase(uint32_t txn, uint32_t key, const Access& access);
    void findOrders();
    void compareWithOrder(uint32_t txn, uint32_t key, const Access& access);
    void findLost();
    DependencyGraph dependencies() const;
    void addTimes(DependencyGraph* graph) const;
    void judgeCycles();
    std::string textOfCycle(const std::vector<DependencyGraph::Step>& cycle) const;

    const std::vector<HistoryTxn>& history_;
    HistoryReport report_;
    std::map<AnomalyKind, int> noted_;
    std::map<std::pair<uint32_t, uint32_t>, Writer> writers_;  // by key and element
    std::vector<std::map<uint32_t, Access>> accesses_;         // by transaction, by key
    std::map<uint32_t, List> orders_;                          // the longest list of each key
};

void Checker::findWriters() {
    for (uint32_t txn = 0; txn < history_.size(); ++txn) {
        std::map<uint32_t, Writer*> last;
        for (const HistoryOp& op : history_[txn].ops) {
            if (op.kind == HistoryOp::Kind::kAppend) {
                Writer& writer = writers_[{op.key, op.element}];
                writer = {txn, true};
                Writer*& before = last[op.key];
                if (before != nullptr) {
                    before->isLast = false;
                }
                before = &writer;
            }
        }
    }
}

void Checker::readOps(uint32_t txn) {
    for (const HistoryOp& op : history_[txn].ops) {
        Access& access = accesses_[txn][op.key];
        if (op.kind == HistoryOp::Kind::kAppend) {
            access.own.push_back(op.element);
            continue;
        }
        const bool seesOwn = op.seen.size() >= access.own.size() &&
                             std::equal(access.own.rbegin(), access.own.rend(), op.seen.rbegin());
        if (!seesOwn) {
            note(AnomalyKind::kInternal,
                 at(txn, op.key) + textOf(op.seen) + " without its own " + textOf(access.own));
            continue;
        }
        List base(op.seen.begin(), op.seen.end() - static_cast<std::ptrdiff_t>(access.own.size()));
        if (access.hasBase && base != access.base) {
            note(AnomalyKind::kInternal,
                 at(txn, op.key) + textOf(access.base) + " and then " + textOf(base));
        }
        access.hasBase = true;
        access.base = std::move(base);
    }
}

void Checker::judgeBase(uint32_t txn, uint32_t key, const Access& access) {
    std::set<uint32_t> met;
    for (size_t i = 0; i < access.base.size(); ++i) {
        const uint32_t element = access.base[i];
        const auto writer = writers_.find({key, element});
        if (writer == writers_.end() || !met.insert(element).second) {
            note(AnomalyKind::kGarbage, at(txn, key) + std::to_string(element));
        } else if (!history_[writer->second.txn].committed) {
            note(AnomalyKind::kAbortedRead,
                 at(txn, key) + std::to_string(element) + " of " + nameOf(writer->second.txn));
        } else if (i + 1 == access.base.size() && !writer->second.isLast) {
            note(AnomalyKind::kIntermediate,
                 at(txn, key) + textOf(access.base) + " has not all of " +
                     nameOf(writer->second.txn));
        }
    }
}

void Checker::findOrders() {
    const auto observed = [this](uint32_t txn, const Access& access) {
        List list = access.base;
        if (history_[txn].committed) {
            list.insert(list.end(), access.own.begin(), access.own.end());
        }
        return list;
    };
    // First the longer lists that were read, then lists that only their writer has seen.
    for (const bool withOwn : {false, true}) {
        for (uint32_t txn = 0; txn < history_.size(); ++txn) {
            for (const auto& [key, access] : accesses_[txn]) {
                if (access.hasBase) {
                    List list = withOwn ? observed(txn, access) : access.base;
                    List& longest = orders_[key];
                    const bool better = withOwn ? continues(list, longest) : true;
                    if (better && list.size() > longest.size()) {
                        longest = std::move(list);
                    }
                }
            }
        }
    }
    for (uint32_t txn = 0; txn < history_.size(); ++txn) {
        for (const auto& [key, access] : accesses_[txn]) {
            if (access.hasBase) {
                compareWithOrder(txn, key, access);
            }
        }
    }
}

void Checker::compareWithOrder(uint32_t txn, uint32_t key, const Access& access) {
    const List& order = orders_[key];
    if (!continues(order, access.base)) {
        note(AnomalyKind::kOrder, at(txn, key) + textOf(access.base) + " beside " + textOf(order));
        return;
    }
    List after = access.base;
    after.insert(after.end(), access.own.begin(), access.own.end());
    if (history_[txn].committed && !continues(order, after)) {
        note(AnomalyKind::kLostUpdate,
             at(txn, key) + "made " + textOf(after) + ", but there is " + textOf(order));
    }
}

/// Appends of transactions that did not read: no later reader sees them.
void Checker::findLost() {
    std::map<uint32_t, uint64_t> lastLook;  // by key
    for (uint32_t txn = 0; txn < history_.size(); ++txn) {
        for (const auto& [key, access] : accesses_[txn]) {
            lastLook[key] = std::max(lastLook[key], access.hasBase ? history_[txn].begin : 0);
        }
    }
    for (const auto& [place, writer] : writers_) {
        const auto& [key, element] = place;
        const HistoryTxn& txn = history_[writer.txn];
        const List& order = orders_[key];
        if (txn.committed && !accesses_[writer.txn][key].hasBase && txn.end < lastLook[key] &&
            std::find(order.begin(), order.end(), element) == order.end()) {
            note(AnomalyKind::kLostUpdate, at(writer.txn, key) + std::to_string(element));
        }
    }
}

DependencyGraph Checker::dependencies() const {
    DependencyGraph graph(static_cast<uint32_t>(history_.size()));
    const auto writerOf = [this](uint32_t key, uint32_t element, uint32_t* txn) {
        const auto found = writers_.find({key, element});
        *txn = found == writers_.end() ? 0 : found->second.txn;
        return found != writers_.end();
    };
    for (const auto& [key, order] : orders_) {
        for (size_t i = 1; i < order.size(); ++i) {
            uint32_t first = 0, second = 0;
            if (writerOf(key, order[i - 1], &first) && writerOf(key, order[i], &second)) {
                graph.add(first, second, Dependency::kOverwrites, key);
            }
        }
    }
    for (uint32_t txn = 0; txn < history_.size(); ++txn) {
        for (const auto& [key, access] : accesses_[txn]) {
            const auto found = orders_.find(key);
            if (!access.hasBase || found == orders_.end() ||
                !continues(found->second, access.base)) {
                continue;
            }
            const List& order = found->second;
            const size_t seen = access.base.size();
            uint32_t last = 0, next = 0;
            const bool hasLast = seen > 0 && writerOf(key, access.base.back(), &last);
            if (hasLast) {
                graph.add(last, txn, Dependency::kReads, key);
            }
            const bool hasNext = seen < order.size() && writerOf(key, order[seen], &next);
            if (hasNext && !(hasLast && last == next)) {  // else G1b, already noted
                graph.add(txn, next, Dependency::kMisses, key);
            }
        }
    }
    return graph;
}

/// A chain of moments: transactions that ended before one have an edge to it, and it has edges to
/// those that began after it.
void Checker::addTimes(DependencyGraph* graph) const {
    std::vector<std::pair<uint64_t, uint32_t>> ends;
    for (uint32_t txn = 0; txn < history_.size(); ++txn) {
        ends.emplace_back(history_[txn].end, txn);
    }
    std::sort(ends.begin(), ends.end());
    std::vector<uint32_t> moments;
    for (const auto& [end, txn] : ends) {
        const uint32_t moment = graph->addNode();
        graph->add(txn, moment, Dependency::kBefore);
        if (!moments.empty()) {
            graph->add(moments.back(), moment, Dependency::kBefore);
        }
        moments.push_back(moment);
    }
    for (uint32_t txn = 0; txn < history_.size(); ++txn) {
        const auto after =
            std::lower_bound(ends.begin(), ends.end(), std::pair(history_[txn].begin, uint32_t{0}));
        if (after != ends.begin()) {
            graph->add(
                moments[static_cast<size_t>(after - ends.begin()) - 1], txn, Dependency::kBefore);
        }
    }
}

void Checker::judgeCycles() {
    using enum Dependency;
    DependencyGraph graph = dependencies();
    const auto overwriting = graph.cycle(static_cast<unsigned>(kOverwrites), false);
    if (!overwriting.empty()) {
        note(AnomalyKind::kDirtyWrite, textOfCycle(overwriting));
    }
    const auto flowing = graph.cycle(kOverwrites | kReads, false);
    if (overwriting.empty() && !flowing.empty()) {
        note(AnomalyKind::kCircular, textOfCycle(flowing));
    }
    report_.hasWriteSkew = !graph.cycle(kOverwrites | kReads | kMisses, false).empty();
    if (!flowing.empty()) {
        return;  // anything found below would be the same cycle
    }
    if (const auto apart = graph.cycle(kOverwrites | kReads | kMisses, true); !apart.empty()) {
        const auto misses = std::count_if(
            apart.begin(), apart.end(), [](const auto& step) { return step.kind == kMisses; });
        note(misses == 1 ? AnomalyKind::kReadSkew : AnomalyKind::kLongFork, textOfCycle(apart));
        return;
    }
    addTimes(&graph);
    const auto late = graph.cycle(kOverwrites | kReads | kMisses | kBefore, true);
    if (!late.empty()) {
        note(AnomalyKind::kStale, textOfCycle(late));
    }
}

std::string Checker::textOfCycle(const std::vector<DependencyGraph::Step>& cycle) const {
    std::string out;
    bool inTime = false;
    for (const DependencyGraph::Step& step : cycle) {
        const std::string key = " key " + std::to_string(step.key);
        if (step.from < history_.size()) {
            out += nameOf(step.from);
        }
        switch (step.kind) {
            case Dependency::kOverwrites:
                out += " is overwritten in" + key + " by ";
                break;
            case Dependency::kReads:
                out += " is read in" + key + " by ";
                break;
            case Dependency::kMisses:
                out += " misses in" + key + " what came from ";
                break;
            case Dependency::kBefore:
                out += inTime ? "" : " ended before the begin of ";
                break;
        }
        inTime = step.kind == Dependency::kBefore;
    }
    return out +
           (cycle[0].from < history_.size() ? nameOf(cycle[0].from) : std::string("the first"));
}

}  // namespace

std::string_view anomalyName(AnomalyKind kind) {
    switch (kind) {
        case AnomalyKind::kInternal:
            return "own writes not seen, or one key in two states";
        case AnomalyKind::kGarbage:
            return "an element that no transaction wrote, or written twice";
        case AnomalyKind::kAbortedRead:
            return "G1a, read of an aborted write";
        case AnomalyKind::kIntermediate:
            return "G1b, intermediate read";
        case AnomalyKind::kLostUpdate:
            return "lost update";
        case AnomalyKind::kOrder:
            return "two orders of one key";
        case AnomalyKind::kDirtyWrite:
            return "G0, dirty write";
        case AnomalyKind::kCircular:
            return "G1c, circular information flow";
        case AnomalyKind::kReadSkew:
            return "read skew";
        case AnomalyKind::kLongFork:
            return "long fork";
        case AnomalyKind::kStale:
            return "stale snapshot";
    }
    return "";
}

bool HistoryReport::has(AnomalyKind kind) const {
    return std::any_of(anomalies.begin(), anomalies.end(), [&](const Anomaly& anomaly) {
        return anomaly.kind == kind;
    });
}

std::string HistoryReport::text() const {
    std::string out;
    for (const Anomaly& anomaly : anomalies) {
        out.append(anomalyName(anomaly.kind)).append(": ").append(anomaly.text).append("\n");
    }
    return out;
}

HistoryReport checkHistory(const std::vector<HistoryTxn>& history) {
    return Checker(history).check();
}

}  // namespace freshet::testing
