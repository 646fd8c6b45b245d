// SPDX-License-Identifier: Apache-2.0
/// Writing the documents of an aggregate that ends in $out or $merge.
#pragma once

#include "freshet/command/run/invocation.h"
#include "freshet/query/cursor.h"
#include "freshet/query/write.h"

#include <memory>
#include <string>
#include <vector>

namespace freshet::command {

/// {$out: ...} or {$merge: ...}, read.
struct AggregateOutput {
    enum class WhenMatched : uint8_t { kReplace, kKeep, kMerge, kFail, kPipeline };
    enum class WhenNotMatched : uint8_t { kInsert, kDiscard, kFail };

    std::string db;
    std::string collection;
    bool replacesCollection = false;  // $out
    std::vector<std::string> on;
    WhenMatched whenMatched = WhenMatched::kMerge;
    bson::OwnedDocument pipeline;  // an array's bytes; what kPipeline does to the existing document
    bson::OwnedDocument let;       // expressions of the variables it sees as $$name, besides $$new
    WhenNotMatched whenNotMatched = WhenNotMatched::kInsert;
    query::WriteOptions options;  // of every write; the part that the command sets
};

/// `stage`: the pipeline's last one. kInvalid with MongoDB's code and text.
StatusOr<AggregateOutput> parseOutput(const Invocation& call, bson::Document stage);

/// Reads the cursor to its end and writes its documents. With $out the collection is replaced as a
/// whole, or not at all. Waits for durability. After a duplicate key, call.errorInfo names the key.
sync::Task<Status> writeOutput(Invocation& call,
                               query::QueryCursor& cursor,
                               const AggregateOutput& output);

}  // namespace freshet::command
