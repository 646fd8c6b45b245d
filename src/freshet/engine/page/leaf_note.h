// SPDX-License-Identifier: Apache-2.0
/// What the page map says of a leaf (block::PagePlace::note), so that opening a store need not read
/// it: how many entries its image has, and whether it is the leaf that its parent means.
///   WORD   leaf:1 | largeValues:1 | entries:30 | fences:32   from the high bits down
/// Of other pages, of leaves from before there were notes, and of leaves with too many entries
/// there is none. docs/formats/page.md.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/engine/page/page_image.h"

#include <cstdint>
#include <optional>

namespace freshet::engine {

struct LeafNote {
    uint32_t entries = 0;
    /// Some values lie on pages of their own: who they are only the image tells.
    bool hasLargeValues = false;
    /// A checksum of the tree's number and of both fences: tells whether the parent is of the same
    /// age. That it agrees by chance would be found when the leaf is read.
    uint32_t fences = 0;
};

inline constexpr uint64_t kNoNote = 0;

uint32_t fencesOf(uint32_t tree, ByteView low, ByteView high);
/// kNoNote: it cannot be told in a note.
uint64_t writeNote(const LeafNote& note);
std::optional<LeafNote> readNote(uint64_t note);
/// The note of the page whose image this is.
uint64_t noteOf(const PageImage& image);

}  // namespace freshet::engine
