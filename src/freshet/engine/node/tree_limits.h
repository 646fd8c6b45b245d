// SPDX-License-Identifier: Apache-2.0
/// Sizes at which pages change shape. Small in model checks.
#pragma once

#include <cstdint>

namespace freshet::engine {

struct TreeLimits {
    uint32_t deltaKeysMax = 256;         // a leaf with this many changed keys is rebuilt
    uint32_t deltaBytesMax = 32 * 1024;  // and so is one with this many bytes of changes
    uint32_t leafBytesMax = 12 * 1024;   // a leaf above this is split
    /// As leafBytesMax, for a tree whose leaves are stored compressed; joinedBytesMax grows in
    /// proportion. What counts is how much a miss reads from the disk.
    uint32_t packedLeafBytesMax = 32 * 1024;
    /// Two neighbours that have no more than this together are merged. It is less than the two
    /// halves of a split have, and less than two leaves that were split off because keys were
    /// appended; it is as much as is assumed of two leaves on disk that take a block each. 0: no
    /// leaves are merged.
    uint32_t joinedBytesMax = leafBytesMax / 3 * 2;
    uint32_t innerBytesMax = 16 * 1024;  // an inner node above this is split
    uint32_t bucketsMax = 128;
    /// A leaf whose last keys are this many record ids in a row has cells for the next ones. 0: no
    /// leaf has cells.
    uint32_t denseKeysMin = 16;
    uint32_t sharedValueBytesMin = 1024;  // values from this size on live in a ValueBuffer
    uint32_t trimDepthMin = 16;           // chains are trimmed at this depth, twice it, ...
};

}  // namespace freshet::engine
