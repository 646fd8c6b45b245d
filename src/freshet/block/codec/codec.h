// SPDX-License-Identifier: Apache-2.0
/// Compresses and decompresses bodies of page images. Any thread: each has its own contexts,
/// created on first use. Input to unpack may be arbitrary bytes: the worst result is false.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/block/page_format.h"

#include <string>

namespace freshet::block {

/// Whether this version can read pages of that codec.
bool isKnownCodec(uint8_t codec);

/// Appends `plain`, packed into at most `room` bytes, to `out`. False: it does not fit, or cannot
/// be packed; `out` is unchanged. REQUIRES: not kNone.
bool packBody(Codec codec, ByteView plain, size_t room, std::string* out);

/// Fills out[0, bytes). False unless `packed` is whole and unpacks to exactly `bytes` bytes.
/// REQUIRES: not kNone.
bool unpackBody(Codec codec, ByteView packed, char* out, size_t bytes);

}  // namespace freshet::block
