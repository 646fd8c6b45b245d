// SPDX-License-Identifier: Apache-2.0
/// Commands with placeholders that get new values each time: {"#RAND_INT": [low, high]} (below
/// high), {"#SEQ_INT": {start, step, mod}}, {"#RAND_STRING": [length]}, {"#OID": 1}.
#pragma once

#include "freshet/base/status.h"
#include "freshet/bson/builder.h"

#include <cstdint>
#include <string>

namespace freshet::shell {

/// One thread's source of values. Threads with different numbers get different values; each is
/// reproducible.
class Draw {
public:
    /// REQUIRES: number < count.
    Draw(uint32_t number, uint32_t count);
    /// At least low, below high; low when the range is empty.
    int64_t between(int64_t low, int64_t high);
    /// 0, 1, 2 ... over all threads together, each once.
    int64_t sequence() const { return sequence_; }
    /// Advances to the next command.
    void goOn() { sequence_ += count_; }

private:
    uint64_t state_;
    int64_t sequence_;
    int64_t count_;
};

/// kInvalid when the document has an unknown placeholder, or one with invalid numbers.
Status checkTemplate(bson::Document document);
/// REQUIRES: checkTemplate(document).isOk().
std::string fillTemplate(bson::Document document, Draw& draw);

}  // namespace freshet::shell
