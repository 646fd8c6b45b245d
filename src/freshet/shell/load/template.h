// SPDX-License-Identifier: Apache-2.0
/// Commands with places that are filled anew each time: {"#RAND_INT": [low, high]} (below high),
/// {"#SEQ_INT": {start, step, mod}}, {"#RAND_STRING": [length]}, {"#OID": 1}.
#pragma once

#include "freshet/base/status.h"
#include "freshet/bson/builder.h"

#include <cstdint>
#include <string>

namespace freshet::shell {

/// What one thread draws from. Threads differ by their numbers, and repeat themselves.
class Draw {
public:
    /// REQUIRES: number < count.
    Draw(uint32_t number, uint32_t count);
    /// At least low, below high; low when there is nothing between.
    int64_t between(int64_t low, int64_t high);
    /// 0, 1, 2 ... of all threads together, each once.
    int64_t sequence() const { return sequence_; }
    /// One command further.
    void goOn() { sequence_ += count_; }

private:
    uint64_t state_;
    int64_t sequence_;
    int64_t count_;
};

/// kInvalid when the document has a place that is none of the four or lacks its numbers.
Status checkTemplate(bson::Document document);
/// REQUIRES: checkTemplate(document).isOk().
std::string fillTemplate(bson::Document document, Draw& draw);

}  // namespace freshet::shell
