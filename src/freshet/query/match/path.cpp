// SPDX-License-Identifier: Apache-2.0
#include "freshet/query/match/path.h"

namespace freshet::query {

int64_t arrayIndexOf(std::string_view component) {
    constexpr size_t kDigitsMax = 9;  // larger indexes cannot exist in a document
    if (component.empty() || component.size() > kDigitsMax ||
        (component[0] == '0' && component.size() > 1)) {
        return -1;
    }
    int64_t index = 0;
    for (char c : component) {
        if (c < '0' || c > '9') {
            return -1;
        }
        index = index * 10 + (c - '0');
    }
    return index;
}

MatchPath::MatchPath(std::string_view dotted) {
    for (;;) {
        const size_t dot = dotted.find('.');
        const std::string_view name = dotted.substr(0, dot);
        parts_.push_back({std::string(name), arrayIndexOf(name)});
        if (dot == std::string_view::npos) {
            return;
        }
        dotted.remove_prefix(dot + 1);
    }
}

}  // namespace freshet::query
