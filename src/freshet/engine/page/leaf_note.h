// SPDX-License-Identifier: Apache-2.0
/// What the page map says of a leaf (block::PagePlace::note), so that opening a store need not read
/// it: how many entries its image has, and whether it is the leaf that its parent means.
///   WORD   leaf:1 | largeValues:1 | entries:30 | fences:32   from the high bits down
/// Inner pages, leaves older than notes, and leaves with too many entries have none.
/// docs/formats/page.md.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/engine/page/page_image.h"

#include <cstdint>
#include <optional>

namespace freshet::engine {

struct LeafNote {
    uint32_t entries = 0;
    /// Some values lie on pages of their own: only the image says which.
    bool hasLargeValues = false;
    /// A checksum of the tree's number and both fences: shows whether image and parent are of the
    /// same age. A match by chance would be found when the leaf is read.
    uint32_t fences = 0;
};

inline constexpr uint64_t kNoNote = 0;

uint32_t fencesOf(uint32_t tree, ByteView low, ByteView high);
/// kNoNote: the leaf cannot be described by a note.
uint64_t writeNote(const LeafNote& note);
std::optional<LeafNote> readNote(uint64_t note);
/// The note for the page with this image.
uint64_t noteOf(const PageImage& image);

}  // namespace freshet::engine
