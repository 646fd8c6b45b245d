// SPDX-License-Identifier: Apache-2.0
/// ReadAhead: gets into the caches what reads by _id are about to look at, several documents side
/// by side. See engine/read_ahead.h. One thread.
#pragma once

#include "freshet/catalog/catalog.h"
#include "freshet/engine/read_ahead.h"

#include <array>
#include <string>

namespace freshet::query {

/// Where the two reads that lead to a document may begin; good as long as the collection's trees.
struct DocumentHint {
    engine::LeafHint id;
    engine::LeafHint record;
};

class ReadAhead {
public:
    /// The document of that collection whose _id has that key. The collection and *hint, which gets
    /// what is found out, stay until run(). False: there is no room for more.
    bool add(const catalog::Collection& collection, ByteView key, DocumentHint* hint);
    /// Looks at all of them, and forgets them. REQUIRES: an open slice.
    void run();

private:
    static constexpr size_t kMost = 32;
    struct One {
        const catalog::Collection* collection = nullptr;
        DocumentHint* hint = nullptr;
        std::string key;
        bool isRecord = false;  // the second tree
        engine::Probe probe;
    };
    /// False: it is over.
    static bool step(One* one);

    std::array<One, kMost> all_;
    size_t count_ = 0;
};

}  // namespace freshet::query
