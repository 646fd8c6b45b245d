// SPDX-License-Identifier: Apache-2.0
/// What the callers of a page tree pass to it and get from it.
#pragma once

#include "freshet/engine/commits/late_commits.h"
#include "freshet/engine/node/page_entry.h"
#include "freshet/engine/value/version.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace freshet::engine {

/// What a read sees: a snapshot, and the reader's own uncommitted writes.
struct View {
    uint64_t readTs = 0;
    uint64_t ownStamp = 0;              // 0 = it has written nothing
    const LateCommits* late = nullptr;  // of a snapshot of the log; usually none
    /// Whether the snapshot has the commit with this timestamp.
    bool sees(uint64_t ts) const { return ts <= readTs || (late != nullptr && late->has(ts)); }
};

enum class WriteKind : uint8_t { kPut, kInsert, kErase, kReplay };

struct WriteRequest {
    WriteKind kind = WriteKind::kPut;
    VersionOp op = VersionOp::kPut;
    ByteView key;
    ByteView value;
    uint64_t stamp = 0;  // what the version carries: in flight, or (kReplay) committed
    View view;
};

class DiskLeaf;

/// A leaf that a call needs and that is not in memory. Good as long as the slice. The call has
/// changed nothing so far.
struct Fault {
    PageEntry* entry = nullptr;
    DiskLeaf* leaf = nullptr;  // null: nothing is missing
};

struct WriteResult {
    enum class Kind : uint8_t { kDone, kNotFound, kExists, kConflict, kBusy, kOnDisk };
    Kind kind = Kind::kDone;
    Version* version =
        nullptr;         // kDone: what was linked; stays the writer's until its stamp is final
    uint64_t other = 0;  // kConflict: the later commit's ts; kBusy: the other writer's stamp
    Fault fault;         // kOnDisk
};

enum class Direction : uint8_t { kForward, kBackward };

enum class Edge : uint8_t { kNone, kFirst, kLast };

/// The position in key order from which a walk goes on.
struct WalkFrom {
    Edge edge = Edge::kFirst;  // kNone: `key` decides
    std::string key;
    bool inclusive = true;  // may `key` itself be the first?
};
/// How far a walk may go in one call.
struct WalkBudget {
    uint32_t entries = 1;
    size_t bytes = 64 * 1024;
    uint32_t skips = 1000;  // keys without a visible value, and pages
};
/// Takes the walk's entries in order; key and value are valid during the call.
using WalkSink = std::function<void(ByteView key, const ValueRef& value)>;
struct WalkResult {
    bool atEnd = false;  // there are no more entries
    WalkFrom next;       // else: where to go on
    Fault fault;         // of the next leaf, if a fault stopped the walk
};

/// What one leaf has of a range.
struct LeafCount {
    uint64_t entries = 0;
    std::string next;  // where the range goes on; empty: it ends here
    Fault fault;       // of the leaf, if it must be read first
};

}  // namespace freshet::engine
