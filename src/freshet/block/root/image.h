// SPDX-License-Identifier: Apache-2.0
/// Page images: what block adds to one before it is written, and what it checks in one that was
/// read.
#pragma once

#include "freshet/base/status.h"
#include "freshet/block/block_file.h"
#include "freshet/block/page_buffer.h"
#include "freshet/platform/file.h"

#include <string>

namespace freshet::block {

/// What lies behind a stored image.
struct Plain {
    Codec codec = Codec::kNone;
    size_t bytes = 0;  // header and body before compression
};

/// The image with its body compressed, if that takes fewer blocks; else false. To be sealed.
bool packImage(ByteView image, Codec codec, std::string* packed);

/// Completes the header of image[0, bytes); the checksum comes last, over the bytes as they are
/// stored. Returns the place but for its extent.
PagePlace sealImage(char* image, size_t bytes, const Plain& plain, uint64_t imageSeq);

/// How many bytes to read for the image at `place`. The texts of these failures name the page and
/// the offset, not the file.
StatusOr<size_t> bytesToRead(PageId page, const PagePlace& place);

/// Checks all that can be of the `got` bytes in `buffer`, which were read at `place`: header,
/// length against extent, checksum inside and outside, page id, sequence number. Makes of it what
/// it was before packImage(), in `buffer`, whose memory may be another one then.
StatusOr<ByteView> openImage(PageId page, const PagePlace& place, size_t got, PageBuffer* buffer);

/// Both, with reading in between.
StatusOr<ByteView> readImage(platform::File& file,
                             PageId page,
                             const PagePlace& place,
                             PageBuffer* buffer);

}  // namespace freshet::block
