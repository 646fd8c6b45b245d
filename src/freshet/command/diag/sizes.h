// SPDX-License-Identifier: Apache-2.0
/// How much a collection holds. Documents are counted by walking them: counting while writing would
/// make writers share a cache line. Sizes on disk are those counted by the last checkpoint.
#pragma once

#include "freshet/command/run/invocation.h"

#include <string>
#include <vector>

namespace freshet::command {

struct CollectionSizes {
    int64_t count = 0;
    int64_t bytes = 0;        // of the documents
    int64_t storedBytes = 0;  // their size in the data file
    struct OfIndex {
        std::string name;
        int64_t bytes = 0;  // its size in the data file
    };
    std::vector<OfIndex> indexes;
    int64_t indexBytes() const;
};

/// Walks the collection in one snapshot, concurrently with writers. kCancelled when it is dropped
/// meanwhile.
sync::Task<StatusOr<CollectionSizes>> measure(Invocation& call,
                                              catalog::CollectionRef collection,
                                              bool withIndexes);

/// The sizes of the collection and its indexes in the data file.
int64_t storedBytes(engine::Store& store, const catalog::Collection& collection);

/// `scale` divides sizes in replies; kInvalid (kBadValue) when it is below 1.
StatusOr<int64_t> scaleOf(Fields* fields);
/// In collStats' form.
void addStorageStats(const CollectionSizes& sizes, int64_t scale, bson::Builder* out);

}  // namespace freshet::command
