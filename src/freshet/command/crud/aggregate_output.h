// SPDX-License-Identifier: Apache-2.0
/// Where the documents of an aggregate go that ends in $out or $merge.
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
    bson::OwnedDocument pipeline;  // an array's bytes; what kPipeline does to what is there
    bson::OwnedDocument let;       // what it sees as $$name, beside $$new; expressions
    WhenNotMatched whenNotMatched = WhenNotMatched::kInsert;
    query::WriteOptions options;  // of every write; the command's part
};

/// `stage`: the pipeline's last one. kInvalid with MongoDB's code and text.
StatusOr<AggregateOutput> parseOutput(const Invocation& call, bson::Document stage);

/// Reads the cursor to its end and writes what it gives. With $out the collection is replaced as a
/// whole, or not at all. Waits for durability. After a duplicate key call.errorInfo says which.
sync::Task<Status> writeOutput(Invocation& call,
                               query::QueryCursor& cursor,
                               const AggregateOutput& output);

}  // namespace freshet::command
