// SPDX-License-Identifier: Apache-2.0
#include "freshet/base/cut_text.h"

#include "freshet/base/assert.h"

namespace freshet {

std::string cutText(std::string_view text, size_t bytesMax) {
    constexpr std::string_view kMark = "...";
    dcheck(bytesMax >= kMark.size());
    if (text.size() <= bytesMax) {
        return std::string(text);
    }
    size_t at = bytesMax - kMark.size();
    // Back to the beginning of the character, at most three bytes before; else it is not UTF-8.
    for (int i = 0; i < 3 && at > 0 && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80; ++i) {
        --at;
    }
    return std::string(text.substr(0, at)).append(kMark);
}

}  // namespace freshet
