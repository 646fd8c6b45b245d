// SPDX-License-Identifier: Apache-2.0
/// How much a collection holds, found by walking it: nobody counts while writing, so that writers
/// share no line.
#pragma once

#include "freshet/command/run/invocation.h"

#include <string>
#include <vector>

namespace freshet::command {

struct CollectionSizes {
    int64_t count = 0;
    int64_t bytes = 0;  // of the documents
    struct OfIndex {
        std::string name;
        int64_t entries = 0;
        int64_t bytes = 0;  // of keys and values
    };
    std::vector<OfIndex> indexes;
    int64_t indexBytes() const;
};

/// Walks the collection and, if wished, its indexes, in one snapshot beside writers. kCancelled
/// when it is dropped meanwhile.
sync::Task<StatusOr<CollectionSizes>> measure(Invocation& call,
                                              catalog::CollectionRef collection,
                                              bool withIndexes);

/// About how many bytes documents and index entries have, from the first few thousand of each: a
/// collection with no more than those is told exactly. 0 when it is dropped meanwhile.
sync::Task<StatusOr<int64_t>> estimateBytes(Invocation& call, catalog::CollectionRef collection);

/// `scale` divides sizes in replies; kInvalid (kBadValue) when it is below 1.
StatusOr<int64_t> scaleOf(Fields* fields);
/// As collStats shows sizes.
void addStorageStats(const CollectionSizes& sizes, int64_t scale, bson::Builder* out);

}  // namespace freshet::command
