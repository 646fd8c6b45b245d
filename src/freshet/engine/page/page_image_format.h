// SPDX-License-Identifier: Apache-2.0
/// What follows block::PageHeader in a page image: the body, whose version is in the high byte of
/// PageHeader::flags. Offsets are from the image's beginning; little endian, except that a head's
/// value comes from big-endian bytes. All pages of a tree carry its id in PageHeader::treeId; the
/// root of tree T is page T, all others have ids from 2^32 on.
///
/// kLeafBytes and kInner (PageHeader: entries = n, level (0 = leaf), prefixLen, lowLen, highLen,
/// rightId):
///
///   low       lowLen bytes: the first key that may be here
///   high      highLen bytes: the first key that may not; none = no limit
///   prefix    prefixLen bytes that all keys here begin with, left out below
///   child     inner pages only: u64, the page of the keys from low up to the first separator
///   pad       zeros up to a multiple of 8
///   heads     n times u64: the first 8 bytes of each key tail as a big-endian number, zero-padded
///   offsets   n times u32: where each cell begins
///   cells     leaf:  tailBytes varint | valueTag varint | tail | value
///             inner: tailBytes varint | child u64 | tail (a separator and the page it begins)
///
/// valueTag = bytes * 2, followed by that many bytes of value; or bytes * 2 + 1, followed by the
/// u64 id of a kExtern page that holds the value. Keys ascend strictly, low <= key < high (for
/// separators low < key). A varint has seven bits a byte, the lowest first, at most five bytes.
///
/// kExtern (entries = 0): the value's bytes, to the end of the image.
///
/// An image can be older than its neighbours' (decision 0009): if it reaches beyond the next page
/// that its parent names, it is cut off there; pages that no image leads to are garbage.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freshet::engine {

inline constexpr uint8_t kPageBodyVersion = 1;
inline constexpr unsigned kPageBodyVersionShift = 8;
inline constexpr uint16_t kPageKindMask = 0xff;
inline constexpr size_t kHeadBytes = 8;
inline constexpr size_t kCellOffsetBytes = 4;
inline constexpr size_t kChildBytes = 8;
inline constexpr uint64_t kValueIsExtern = 1;

}  // namespace freshet::engine
