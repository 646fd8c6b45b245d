// SPDX-License-Identifier: Apache-2.0
/// Dependencies between transactions, and the cycles that they must not form.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace freshet::testing {

enum class Dependency : uint8_t {
    kOverwrites = 1,  // ww: the second's version replaces the first's
    kReads = 2,       // wr: the second has read the first's version
    kMisses = 4,      // rw, anti-dependency: the first has read what the second replaced
    kBefore = 8       // the first had ended when the second began
};
constexpr unsigned operator|(Dependency a, Dependency b) {
    return static_cast<unsigned>(a) | static_cast<unsigned>(b);
}
constexpr unsigned operator|(unsigned a, Dependency b) {
    return a | static_cast<unsigned>(b);
}

class DependencyGraph {
public:
    struct Step {
        uint32_t from;
        Dependency kind;
        uint32_t key;
    };
    explicit DependencyGraph(uint32_t nodes) : edges_(nodes) {}

    uint32_t addNode() {
        edges_.emplace_back();
        return static_cast<uint32_t>(edges_.size() - 1);
    }
    void add(uint32_t from, uint32_t to, Dependency kind, uint32_t key = 0) {
        if (from != to) {
            edges_[from].push_back({to, kind, key});
        }
    }
    /// A short cycle of these kinds, empty when there is none. `apart`: no two kMisses in a row,
    /// around the cycle.
    std::vector<Step> cycle(unsigned kinds, bool apart) const;

private:
    struct Edge {
        uint32_t to;
        Dependency kind;
        uint32_t key;
    };
    /// A node, and whether the last step to it was kMisses (with `apart` only).
    using State = uint32_t;
    struct Search {
        unsigned kinds;
        bool apart;
    };
    /// The state behind an edge, or none.
    static bool follow(const Search& search, State from, const Edge& edge, State* to);
    std::vector<State> anyCycle(const Search& search) const;
    std::vector<Step> shortestThrough(const Search& search, State start) const;

    std::vector<std::vector<Edge>> edges_;
};

}  // namespace freshet::testing
