// SPDX-License-Identifier: Apache-2.0
/// Unanswered: what a queue pair has sent from its user's memory and has not told of yet. An
/// adapter may read it again until then, because an answer got lost: so it must still be there,
/// unchanged. Guarded by the network's mutex.
#pragma once

#include "freshet/transport/verbs.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace freshet::testing {

class Unanswered {
public:
    void add(const transport::verbs::Write& write) {
        if (!write.isInline && write.piece.bytes > 0) {
            sent_.push_back({write.piece.data,
                             {static_cast<const char*>(write.piece.data), write.piece.bytes}});
        }
    }
    /// All that was sent up to now, for the completion that speaks for it.
    Unanswered take() { return std::exchange(*this, Unanswered()); }
    void clear() { sent_.clear(); }
    /// Reads it again, as AddressSanitizer sees.
    bool isUnchanged() const {
        return std::all_of(sent_.begin(), sent_.end(), [](const Sent& sent) {
            return std::memcmp(sent.place, sent.bytes.data(), sent.bytes.size()) == 0;
        });
    }

private:
    struct Sent {
        const void* place;
        std::string bytes;  // as they were
    };
    std::vector<Sent> sent_;
};

}  // namespace freshet::testing
