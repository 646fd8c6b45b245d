// SPDX-License-Identifier: Apache-2.0
/// Page images: what block adds to one before it is written, and what it checks after one was read.
#pragma once

#include "freshet/base/status.h"
#include "freshet/block/block_file.h"
#include "freshet/block/page_buffer.h"
#include "freshet/platform/file.h"

#include <string>

namespace freshet::block {

/// A stored image before compression.
struct Plain {
    Codec codec = Codec::kNone;
    size_t bytes = 0;  // header and body before compression
};

/// Stores in *packed the image with a compressed body, if that takes fewer blocks; else returns
/// false. The caller must seal the result.
bool packImage(ByteView image, Codec codec, std::string* packed);

/// Completes the header of image[0, bytes); the checksum comes last, over the bytes as stored.
/// Returns the place without its extent.
PagePlace sealImage(char* image, size_t bytes, const Plain& plain, uint64_t imageSeq);

/// Number of bytes to read for the image at `place`. Error texts of these functions name the page
/// and the offset, not the file.
StatusOr<size_t> bytesToRead(PageId page, const PagePlace& place);

/// Fully checks the `got` bytes in `buffer`, which were read at `place`: header, length against
/// extent, checksums inside and outside, page id, sequence number. Then undoes packImage(), in
/// `buffer`, whose memory may change.
StatusOr<ByteView> openImage(PageId page, const PagePlace& place, size_t got, PageBuffer* buffer);

/// Both, with the read in between.
StatusOr<ByteView> readImage(platform::File& file,
                             PageId page,
                             const PagePlace& place,
                             PageBuffer* buffer);

}  // namespace freshet::block
