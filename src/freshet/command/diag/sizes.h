// SPDX-License-Identifier: Apache-2.0
/// How much a collection holds. Documents are found by walking them: nobody counts while writing,
/// so that writers share no line. What they take on disk is what the checkpoint has counted.
#pragma once

#include "freshet/command/run/invocation.h"

#include <string>
#include <vector>

namespace freshet::command {

struct CollectionSizes {
    int64_t count = 0;
    int64_t bytes = 0;        // of the documents
    int64_t storedBytes = 0;  // what they take in the data file
    struct OfIndex {
        std::string name;
        int64_t bytes = 0;  // what it takes in the data file
    };
    std::vector<OfIndex> indexes;
    int64_t indexBytes() const;
};

/// Walks the collection in one snapshot beside writers. kCancelled
/// when it is dropped meanwhile.
sync::Task<StatusOr<CollectionSizes>> measure(Invocation& call,
                                              catalog::CollectionRef collection,
                                              bool withIndexes);

/// What the collection and its indexes take in the data file.
int64_t storedBytes(engine::Store& store, const catalog::Collection& collection);

/// `scale` divides sizes in replies; kInvalid (kBadValue) when it is below 1.
StatusOr<int64_t> scaleOf(Fields* fields);
/// As collStats shows sizes.
void addStorageStats(const CollectionSizes& sizes, int64_t scale, bson::Builder* out);

}  // namespace freshet::command
