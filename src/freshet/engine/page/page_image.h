// SPDX-License-Identifier: Apache-2.0
/// Page images: writes one from sorted cells, and reads one with every bound checked, so that
/// arbitrary bytes cause at most kCorruption. The layout is in page_image_format.h; `block` adds
/// and checks its own part of the header.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/base/status.h"
#include "freshet/block/page_format.h"
#include "freshet/engine/page/page_id.h"

#include <cstdint>
#include <memory_resource>
#include <string>
#include <vector>

namespace freshet::engine {

/// What an image says about its page as a whole.
struct PageHead {
    block::PageKind kind = block::PageKind::kLeafBytes;
    PageId page = 0;
    uint32_t tree = 0;
    uint8_t level = 0;
    ByteView low;
    ByteView high;
    ByteView prefix;
    PageId right = 0;       // 0 = none
    PageId firstChild = 0;  // inner pages only
};

class PageImageWriter {
public:
    explicit PageImageWriter(const PageHead& head);
    // In ascending order of tails. What they view must stay until take().
    void addValue(ByteView tail, ByteView value);
    void addLargeValue(ByteView tail, PageId page, size_t bytes);
    void addChild(ByteView tail, PageId child);
    /// The image, in `memory` if that is large enough. The writer must not be used afterwards.
    std::string take(std::string memory = {});

private:
    struct Cell {
        uint64_t tag;  // of a value, as it is written; PageId of a child
        ByteView tail;
        ByteView value;  // or none
        PageId page;     // of a large value, or 0
    };
    void add(const Cell& cell, size_t bytes);
    void appendCell(std::string& image, const Cell& cell) const;

    block::PageHeader header_;
    std::string front_;  // header up to the padding
    std::vector<Cell> cells_;
    size_t cellBytes_ = 0;
};

/// One key of a page. Its value lies here, or on a page of its own; a separator has a child.
struct PageCell {
    ByteView tail;
    ByteView value;
    PageId page = 0;  // of a large value or a child; 0: `value` is here
    size_t valueBytes = 0;
};

/// Views into the parsed image.
struct PageImage {
    PageHead head;
    std::pmr::vector<PageCell> cells;
};
/// A leaf or inner page; its cells lie in `memory`. kCorruption: not what a writer makes.
/// kUnsupported: of a newer version, compressed or encrypted.
StatusOr<PageImage> readPageImage(
    ByteView image, std::pmr::memory_resource* memory = std::pmr::get_default_resource());

std::string writeLargeValue(PageId page, uint32_t tree, ByteView value);
/// The value, a view into the image. Errors as readPageImage().
StatusOr<ByteView> readLargeValue(ByteView image);

}  // namespace freshet::engine
