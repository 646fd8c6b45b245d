// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/page/page_image.h"

#include "freshet/base/assert.h"
#include "freshet/engine/keys/key_array.h"
#include "freshet/engine/page/page_image_format.h"
#include "freshet/engine/store.h"

#include <utility>

namespace freshet::engine {

using block::PageHeader;
using block::PageKind;

namespace {

constexpr size_t kVarintBytesMax = 5;

void appendVarint(std::string& out, uint64_t value) {
    for (; value >= 0x80; value >>= 7) {
        out.push_back(static_cast<char>(value | 0x80));
    }
    out.push_back(static_cast<char>(value));
}

size_t varintBytes(uint64_t value) {
    size_t bytes = 1;
    for (; value >= 0x80; value >>= 7) {
        ++bytes;
    }
    return bytes;
}

PageHeader headerOf(PageKind kind, PageId page, uint32_t tree) {
    PageHeader header;
    header.pageId = page;
    header.treeId = tree;
    header.flags = static_cast<uint16_t>(static_cast<unsigned>(kind) |
                                         kPageBodyVersion << kPageBodyVersionShift);
    return header;
}

ByteView bytesOf(const PageHeader& header) {
    return {reinterpret_cast<const char*>(&header), sizeof(header)};
}

}  // namespace

PageImageWriter::PageImageWriter(const PageHead& head)
    : header_(headerOf(head.kind, head.page, head.tree)) {
    header_.level = head.level;
    header_.prefixLen = static_cast<uint16_t>(head.prefix.size());
    header_.lowLen = static_cast<uint16_t>(head.low.size());
    header_.highLen = static_cast<uint16_t>(head.high.size());
    header_.rightId = head.right;
    front_.append(sizeof(PageHeader), '\0').append(head.low).append(head.high).append(head.prefix);
    if (head.kind == PageKind::kInner) {
        appendLe(front_, head.firstChild);
    }
    front_.append(-front_.size() % kHeadBytes, '\0');
}

void PageImageWriter::add(const Cell& cell, size_t bytes) {
    cells_.push_back(cell);
    cellBytes_ += varintBytes(cell.tail.size()) + cell.tail.size() + bytes;
}

void PageImageWriter::addValue(ByteView tail, ByteView value) {
    const uint64_t tag = value.size() * 2;
    add({tag, tail, value, 0}, varintBytes(tag) + value.size());
}

void PageImageWriter::addLargeValue(ByteView tail, PageId page, size_t bytes) {
    const uint64_t tag = bytes * 2 + kValueIsExtern;
    add({tag, tail, {}, page}, varintBytes(tag) + sizeof(page));
}

void PageImageWriter::addChild(ByteView tail, PageId child) {
    add({child, tail, {}, 0}, sizeof(child));
}

void PageImageWriter::appendCell(std::string& image, const Cell& cell) const {
    appendVarint(image, cell.tail.size());
    if (header_.level != 0) {
        appendLe(image, cell.tag);
    } else {
        appendVarint(image, cell.tag);
    }
    image.append(cell.tail).append(cell.value);
    if (cell.page != 0) {
        appendLe(image, cell.page);
    }
}

std::string PageImageWriter::take(std::string memory) {
    std::string image = std::move(memory);
    const size_t cellsAt = front_.size() + cells_.size() * (kHeadBytes + kCellOffsetBytes);
    image.clear();
    image.reserve(cellsAt + cellBytes_);
    image.append(front_);
    for (const Cell& cell : cells_) {
        appendLe(image, keyHeadOf(cell.tail));
    }
    const size_t offsetsAt = image.size();
    image.append(cells_.size() * kCellOffsetBytes, '\0');
    for (size_t i = 0; i < cells_.size(); ++i) {
        storeLe(image.data() + offsetsAt + i * kCellOffsetBytes,
                static_cast<uint32_t>(image.size()));
        appendCell(image, cells_[i]);
    }
    dcheck(image.size() == cellsAt + cellBytes_);
    header_.entries = static_cast<uint32_t>(cells_.size());
    header_.storedLen = header_.rawLen = static_cast<uint32_t>(image.size());
    storeLe(image.data(), header_);
    return image;
}

namespace {

Status damaged(const char* what) {
    return Status(Code::kCorruption, std::string("page image: ") + what);
}

/// The header, when the image is one that this version can read.
StatusOr<PageHeader> readHeader(ByteView image) {
    if (image.size() < sizeof(PageHeader)) {
        return damaged("shorter than its header");
    }
    const auto header = loadLe<PageHeader>(image.data());
    if (header.flags >> kPageBodyVersionShift != kPageBodyVersion) {
        return Status(Code::kUnsupported, "page image of a newer version");
    }
    if (header.codec != 0 || header.cipher != 0) {
        return Status(Code::kUnsupported, "compressed or encrypted page image");
    }
    if (header.storedLen != image.size() || header.rawLen != image.size()) {
        return damaged("its length differs from that in the header");
    }
    return header;
}

/// Takes pieces off the front of a byte range; false when there is not enough.
class Taker {
public:
    explicit Taker(ByteView bytes) : rest_(bytes) {}
    ByteView rest() const { return rest_; }

    bool take(size_t bytes, ByteView* out) {
        if (rest_.size() < bytes) {
            return false;
        }
        *out = rest_.substr(0, bytes);
        rest_.remove_prefix(bytes);
        return true;
    }
    bool takeId(PageId* out) {
        ByteView bytes;
        if (!take(sizeof(PageId), &bytes)) {
            return false;
        }
        *out = loadLe<PageId>(bytes.data());
        return *out != 0;
    }
    bool takeVarint(uint64_t* out) {
        *out = 0;
        for (size_t i = 0; i < kVarintBytesMax && i < rest_.size(); ++i) {
            const auto byte = static_cast<uint8_t>(rest_[i]);
            *out |= uint64_t{byte & 0x7fu} << (7 * i);
            if (byte < 0x80) {
                rest_.remove_prefix(i + 1);
                return true;
            }
        }
        return false;
    }

private:
    ByteView rest_;
};

bool readCell(ByteView bytes, bool isLeaf, PageCell* cell) {
    Taker taker(bytes);
    uint64_t tailBytes = 0;
    if (!taker.takeVarint(&tailBytes)) {
        return false;
    }
    if (!isLeaf) {
        return taker.takeId(&cell->page) && taker.take(tailBytes, &cell->tail) &&
               taker.rest().empty();
    }
    uint64_t tag = 0;
    if (!taker.takeVarint(&tag) || !taker.take(tailBytes, &cell->tail)) {
        return false;
    }
    cell->valueBytes = tag / 2;
    if (cell->valueBytes > kValueBytesMax) {
        return false;
    }
    return ((tag & kValueIsExtern) != 0 ? taker.takeId(&cell->page)
                                        : taker.take(cell->valueBytes, &cell->value)) &&
           taker.rest().empty();
}

/// low <= prefix + tail of the first cell, and that of the last one < high. Their order covers the
/// cells in between.
bool areWithinFences(const PageHead& head, const PageCell& first, const PageCell& last) {
    // Keys and fences begin with the prefix: the rest is compared.
    const ByteView low = head.low.substr(head.prefix.size());
    const bool isLeaf = head.kind == PageKind::kLeafBytes;
    if (isLeaf ? first.tail < low : first.tail <= low) {
        return false;
    }
    return head.high.empty() || last.tail < head.high.substr(head.prefix.size());
}

Status readHead(const PageHeader& header, Taker* taker, PageHead* head) {
    head->kind = static_cast<PageKind>(header.flags & kPageKindMask);
    head->page = header.pageId;
    head->tree = header.treeId;
    head->level = header.level;
    head->right = header.rightId;
    const bool isLeaf = head->kind == PageKind::kLeafBytes;
    if (!isLeaf && head->kind != PageKind::kInner) {
        return damaged("neither leaf nor inner page");
    }
    if (isLeaf != (head->level == 0)) {
        return damaged("a leaf not on level 0, or an inner page on level 0");
    }
    if (!taker->take(header.lowLen, &head->low) || !taker->take(header.highLen, &head->high) ||
        !taker->take(header.prefixLen, &head->prefix) ||
        (!isLeaf && !taker->takeId(&head->firstChild))) {
        return damaged("the fences are cut off");
    }
    if (!head->low.starts_with(head->prefix) || (head->high.empty() && !head->prefix.empty()) ||
        (!head->high.empty() &&
         (head->low >= head->high || !head->high.starts_with(head->prefix)))) {
        return damaged("the fences are out of order");
    }
    return Status::ok();
}

}  // namespace

StatusOr<PageImage> readPageImage(ByteView image, std::pmr::memory_resource* memory) {
    FRESHET_ASSIGN_OR_RETURN(const PageHeader header, readHeader(image));
    PageImage result{{}, std::pmr::vector<PageCell>(memory)};
    Taker taker(image.substr(sizeof(PageHeader)));
    FRESHET_RETURN_IF_ERROR(readHead(header, &taker, &result.head));
    const size_t n = header.entries;
    ByteView pad;
    ByteView heads;
    ByteView offsets;
    if (n > image.size() || !taker.take(-(image.size() - taker.rest().size()) % kHeadBytes, &pad) ||
        !taker.take(n * kHeadBytes, &heads) || !taker.take(n * kCellOffsetBytes, &offsets)) {
        return damaged("the cells are cut off");
    }
    // Cells are adjacent, so each ends where the next begins.
    size_t at = image.size() - taker.rest().size();
    result.cells.resize(n);
    uint64_t headBefore = 0;
    for (size_t i = 0; i < n; ++i) {
        const size_t end = i + 1 < n ? loadLe<uint32_t>(offsets.data() + (i + 1) * kCellOffsetBytes)
                                     : image.size();
        PageCell& cell = result.cells[i];
        if (loadLe<uint32_t>(offsets.data() + i * kCellOffsetBytes) != at || end < at ||
            end > image.size() ||
            !readCell(image.substr(at, end - at), result.head.level == 0, &cell)) {
            return damaged("a cell is malformed");
        }
        // Most heads differ; then their order is the keys' order.
        const auto head = loadLe<uint64_t>(heads.data() + i * kHeadBytes);
        const bool follows =
            i == 0 || headBefore < head || (headBefore == head && (&cell - 1)->tail < cell.tail);
        if (head != keyHeadOf(cell.tail) || !follows ||
            result.head.prefix.size() + cell.tail.size() > kKeyBytesMax) {
            return damaged("a key is out of order");
        }
        headBefore = head;
        at = end;
    }
    if (n != 0 && !areWithinFences(result.head, result.cells.front(), result.cells.back())) {
        return damaged("a key is out of order");
    }
    if (at != image.size()) {
        return damaged("there are bytes after its cells");
    }
    return result;
}

std::string writeLargeValue(PageId page, uint32_t tree, ByteView value) {
    PageHeader header = headerOf(PageKind::kExtern, page, tree);
    header.storedLen = header.rawLen = static_cast<uint32_t>(sizeof(PageHeader) + value.size());
    std::string image;
    image.reserve(sizeof(PageHeader) + value.size() + block::kBlockBytes);
    return image.append(bytesOf(header)).append(value);
}

StatusOr<ByteView> readLargeValue(ByteView image) {
    FRESHET_ASSIGN_OR_RETURN(const PageHeader header, readHeader(image));
    if (static_cast<PageKind>(header.flags & kPageKindMask) != PageKind::kExtern) {
        return damaged("not a large value");
    }
    return image.substr(sizeof(PageHeader));
}

}  // namespace freshet::engine
