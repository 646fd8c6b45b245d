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
    /// Looks at all of them, and makes room for others. REQUIRES: an open slice.
    void run();
    /// The read of one of them begins, in the order of adding: asks for half the document of the
    /// one after it, which comes while this one is answered. All at once are more lines than the
    /// machine fetches at a time.
    void askForNext();
    /// That read is over: asks for the other half.
    void askForRest();

private:
    static constexpr size_t kMost = 32;
    struct One {
        const catalog::Collection* collection = nullptr;
        DocumentHint* hint = nullptr;
        std::string key;
        enum class At : uint8_t { kFirstTree, kEntry, kSecondTree } at = At::kFirstTree;
        engine::Probe probe;
    };
    /// False: it is over.
    static bool step(One* one);
    static bool takeEntry(One* one);

    std::array<One, kMost> all_;
    size_t count_ = 0;
    // Of the `found_` that the last run() looked at, asked_ were asked for; the last one, next_,
    // for half.
    size_t found_ = 0;
    size_t asked_ = 0;
    const engine::Probe* next_ = nullptr;
};

}  // namespace freshet::query
