// SPDX-License-Identifier: Apache-2.0
#include "freshet/testing/sim/history/graph.h"

#include <algorithm>
#include <deque>

namespace freshet::testing {

bool DependencyGraph::follow(const Search& search, State from, const Edge& edge, State* to) {
    if ((search.kinds & static_cast<unsigned>(edge.kind)) == 0) {
        return false;
    }
    const bool misses = search.apart && edge.kind == Dependency::kMisses;
    if (misses && from % 2 == 1) {
        return false;
    }
    *to = edge.to * 2 + (misses ? 1 : 0);
    return true;
}

/// Depth first; a state that is met again while it is on the path closes a cycle.
std::vector<DependencyGraph::State> DependencyGraph::anyCycle(const Search& search) const {
    enum Colour : uint8_t { kNew, kOnPath, kDone };
    struct PathEntry {
        State state;
        size_t next;
    };
    std::vector<uint8_t> colours(edges_.size() * 2, kNew);
    std::vector<PathEntry> path;
    for (State start = 0; start < colours.size(); ++start) {
        if (colours[start] != kNew) {
            continue;
        }
        colours[start] = kOnPath;
        path.push_back({start, 0});
        while (!path.empty()) {
            PathEntry& last = path.back();
            const std::vector<Edge>& edges = edges_[last.state / 2];
            if (last.next == edges.size()) {
                colours[last.state] = kDone;
                path.pop_back();
                continue;
            }
            State to = 0;
            if (!follow(search, last.state, edges[last.next++], &to)) {
                continue;
            }
            if (colours[to] == kOnPath) {
                std::vector<State> found;
                for (size_t i = path.size(); found.empty() || found.back() != to;) {
                    found.push_back(path[--i].state);
                }
                return found;
            }
            if (colours[to] == kNew) {
                colours[to] = kOnPath;
                path.push_back({to, 0});
            }
        }
    }
    return {};
}

/// Breadth first, back to the start.
std::vector<DependencyGraph::Step> DependencyGraph::shortestThrough(const Search& search,
                                                                    State start) const {
    struct From {
        State state;
        const Edge* edge = nullptr;
    };
    std::vector<From> from(edges_.size() * 2);
    std::deque<State> queue{start};
    while (!queue.empty() && from[start].edge == nullptr) {
        const State state = queue.front();
        queue.pop_front();
        for (const Edge& edge : edges_[state / 2]) {
            State to = 0;
            if (follow(search, state, edge, &to) && from[to].edge == nullptr) {
                from[to] = {state, &edge};
                queue.push_back(to);
            }
        }
    }
    std::vector<Step> steps;
    for (State at = start; from[start].edge != nullptr && (steps.empty() || at != start);) {
        const From& last = from[at];
        steps.push_back({last.state / 2, last.edge->kind, last.edge->key});
        at = last.state;
    }
    std::reverse(steps.begin(), steps.end());
    return steps;
}

std::vector<DependencyGraph::Step> DependencyGraph::cycle(unsigned kinds, bool apart) const {
    const Search search{kinds, apart};
    std::vector<Step> best;
    constexpr size_t kTries = 50;
    const std::vector<State> some = anyCycle(search);
    for (size_t i = 0; i < std::min(some.size(), kTries); ++i) {
        std::vector<Step> steps = shortestThrough(search, some[i]);
        if (best.empty() || steps.size() < best.size()) {
            best = std::move(steps);
        }
    }
    return best;
}

}  // namespace freshet::testing
