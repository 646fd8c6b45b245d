// SPDX-License-Identifier: Apache-2.0
/// ReadAhead: fetches into the caches what reads by _id are about to look at, for several documents
/// side by side. See engine/read_ahead.h. One thread.
#pragma once

#include "freshet/catalog/catalog.h"
#include "freshet/engine/read_ahead.h"

#include <array>
#include <string>

namespace freshet::query {

/// Where the two reads that lead to a document may start; valid as long as the collection's trees.
struct DocumentHint {
    engine::LeafHint id;
    engine::LeafHint record;
};

class ReadAhead {
public:
    /// Adds the document of `collection` whose _id has this key form. What is found out is stored
    /// in *hint. The collection and *hint must live until run(). False: no room left.
    bool add(const catalog::Collection& collection, ByteView key, DocumentHint* hint);
    /// Looks at all of them, then has room for others. REQUIRES: an open slice.
    void run();
    /// To be called when the read of one of them begins, in the order of adding. Requests half of
    /// the next document, which arrives while this one is answered. Whole documents at once would
    /// be more cache lines than the machine fetches at a time.
    void askForNext();
    /// To be called when that read is over. Requests the other half.
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
    /// False: it is finished.
    static bool step(One* one);
    static bool takeEntry(One* one);

    std::array<One, kMost> all_;
    size_t count_ = 0;
    // Of the found_ documents of the last run(), asked_ have been requested; of the last of these,
    // next_, only half.
    size_t found_ = 0;
    size_t asked_ = 0;
    const engine::Probe* next_ = nullptr;
};

}  // namespace freshet::query
