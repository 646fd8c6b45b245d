// SPDX-License-Identifier: Apache-2.0
/// Which words need a scheduling point. A word that in every execution so far was used by one
/// virtual thread only, or written by none, commutes with the operations of other threads: stopping
/// before it would only repeat schedules. When a word turns out to be shared after all, the
/// exhaustive search begins anew with it in the set, so nothing is missed.
#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace freshet::testing {

/// A word's name across executions: the thread that created it, and its number among that thread's
/// words. Words from before the execution (globals) have no name and always need a scheduling
/// point.
using WordKey = uint64_t;
inline constexpr WordKey kGlobalWord = UINT64_MAX;
inline WordKey wordKey(unsigned thread, uint32_t number) {
    return (uint64_t{thread} << 32) | number;
}

class SharedWords {
public:
    bool has(WordKey key) const { return key == kGlobalWord || words_.contains(key); }
    /// Adds a word to the set; has() knows it from the next execution on.
    void learn(WordKey key) { learned_.insert(key); }
    /// Between executions. True: the set has grown.
    bool settle();

    /// "@0.3,1.0": a schedule is only valid together with the set.
    std::string toText() const;
    void parse(const std::string& text);

private:
    std::set<WordKey> words_;
    std::set<WordKey> learned_;
};

}  // namespace freshet::testing
