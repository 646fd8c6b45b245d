// SPDX-License-Identifier: Apache-2.0
#ifdef FRESHET_EXPLORE
#include "freshet/testing/sim/explore/shared_words.h"

#include <sstream>

namespace freshet::testing {

bool SharedWords::settle() {
    bool grown = !learned_.empty();
    words_.merge(learned_);
    learned_.clear();
    return grown;
}

std::string SharedWords::toText() const {
    std::ostringstream out;
    char separator = '@';
    for (WordKey key : words_) {
        out << separator << (key >> 32) << '.' << (key & UINT32_MAX);
        separator = ',';
    }
    return out.str();
}

void SharedWords::parse(const std::string& text) {
    std::istringstream in(text);
    unsigned thread = 0;
    uint32_t number = 0;
    char mark = 0;
    while (in >> mark >> thread >> mark >> number) {
        words_.insert(wordKey(thread, number));
    }
}

}  // namespace freshet::testing
#endif
