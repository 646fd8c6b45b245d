// SPDX-License-Identifier: Apache-2.0
/// Unanswered: bytes that a queue pair has sent from its user's memory and not yet completed. Until
/// the completion an adapter may read them again, because an answer got lost: so they must still be
/// there, unchanged. Guarded by the network's mutex.
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
    /// Everything sent up to now, for the completion that covers it.
    Unanswered take() { return std::exchange(*this, Unanswered()); }
    void clear() { sent_.clear(); }
    /// Reads the bytes again; AddressSanitizer sees that.
    bool isUnchanged() const {
        return std::all_of(sent_.begin(), sent_.end(), [](const Sent& sent) {
            return std::memcmp(sent.place, sent.bytes.data(), sent.bytes.size()) == 0;
        });
    }

private:
    struct Sent {
        const void* place;
        std::string bytes;  // as sent
    };
    std::vector<Sent> sent_;
};

}  // namespace freshet::testing
