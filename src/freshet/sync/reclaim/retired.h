// SPDX-License-Identifier: Apache-2.0
/// Objects that wait for their epoch to pass. Not thread-safe: a RetiredBags belongs to one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace freshet::sync {

struct RetiredObject {
    void* object;
    void (*free)(void*);
    size_t bytes;
};

/// The objects retired while the global epoch read `epoch`.
struct RetiredBag {
    uint64_t epoch = 0;
    std::vector<RetiredObject> objects;

    /// Frees all and returns their bytes. A callback may retire into the same bag.
    size_t freeAll();
};

/// Four bags, one per epoch modulo four.
class RetiredBags {
public:
    /// Returns the bytes freed on the way: a bag is reused when its content is four epochs old.
    size_t add(uint64_t epoch, const RetiredObject& object);
    /// Frees the bags tagged `epoch` or older; returns the bytes.
    size_t freeUpTo(uint64_t epoch);
    /// Moves the non-empty bags to the end of `out`.
    void giveTo(std::vector<RetiredBag>& out);

private:
    std::array<RetiredBag, 4> bags_;
};

}  // namespace freshet::sync
