// SPDX-License-Identifier: Apache-2.0
#include "freshet/base/spare_strings.h"

#include "freshet/base/sanitizer.h"

#include <utility>

namespace freshet {
namespace {

constexpr size_t kKeptMax = 16;  // per thread
constexpr size_t kBytesMin = 256;
constexpr size_t kBytesMax = 16 * 1024;

constinit thread_local bool isOver = false;  // the thread ends, and its spare strings are gone

struct Spare {
    ~Spare() { isOver = true; }
    std::string strings[kKeptMax];
    size_t count = 0;
};
thread_local Spare spare;

}  // namespace

std::string takeSpareString() {
    if (isOver || spare.count == 0) {
        return {};
    }
    return std::move(spare.strings[--spare.count]);
}

void giveSpareString(std::string&& string) noexcept {
    const size_t room = string.capacity();
    if (kIsAddressSanitized || isOver || room < kBytesMin || room > kBytesMax) {
        return;
    }
    Spare& mine = spare;
    if (mine.count == kKeptMax) {
        return;
    }
    string.clear();
    mine.strings[mine.count++] = std::move(string);
}

}  // namespace freshet
