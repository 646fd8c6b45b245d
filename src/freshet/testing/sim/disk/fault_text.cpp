// SPDX-License-Identifier: Apache-2.0
#include "freshet/testing/sim/fault_text.h"

#include <cstdlib>
#include <iterator>
#include <sstream>

namespace freshet::testing {
namespace {

constexpr const char* kOps[] = {
    "open", "read", "write", "sync", "truncate", "rename", "remove", "syncdir"};
constexpr const char* kKinds[] = {"error",
                                  "short",
                                  "lie",
                                  "torn",
                                  "drop",
                                  "misdirect",
                                  "flip",
                                  "flipread",
                                  "split",
                                  "slow",
                                  "late"};

/// The enumerator with the word's index in `words`.
template <typename Enum, size_t N>
bool find(const char* const (&words)[N], const std::string& word, Enum* out) {
    for (size_t i = 0; i < N; ++i) {
        if (word == words[i]) {
            *out = static_cast<Enum>(i);
            return true;
        }
    }
    return false;
}

bool applyOption(const std::string& word, FaultRule* rule) {
    size_t equals = word.find('=');
    std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    std::string name = word.substr(0, equals);
    uint64_t number = std::strtoull(value.c_str(), nullptr, 10);
    if (name == "nth") {
        rule->nth = number;
    } else if (name == "times") {
        rule->times = number == 0 ? kEver : number;
    } else if (name == "below") {
        rule->below = number;
    } else if (name == "ms") {
        rule->slowMs = number;
    } else if (name == "chance") {
        rule->chance = std::strtod(value.c_str(), nullptr);
    } else if (name == "nospace") {
        rule->error = Status(Code::kNoSpace, "No space left on device");
    } else if (name == "growing") {
        rule->growingOnly = true;
    } else if (name == "poweroff") {
        rule->powerOff = true;
    } else {
        return false;
    }
    return true;
}

}  // namespace

StatusOr<FaultRule> parseFault(const std::string& line) {
    std::istringstream words(line);
    FaultRule rule;
    std::string op;
    std::string kind;
    words >> op >> rule.path >> kind;
    if (!find(kOps, op, &rule.op)) {
        return Status(Code::kInvalid, "fault: no operation '" + op + "'");
    }
    if (!find(kKinds, kind, &rule.kind)) {
        return Status(Code::kInvalid, "fault: no kind '" + kind + "'");
    }
    for (std::string word; words >> word;) {
        if (!applyOption(word, &rule)) {
            return Status(Code::kInvalid, "fault: no option '" + word + "'");
        }
    }
    return rule;
}

}  // namespace freshet::testing
