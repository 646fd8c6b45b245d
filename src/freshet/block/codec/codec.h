// SPDX-License-Identifier: Apache-2.0
/// Bodies of page images in fewer bytes, and back. Any thread: each has contexts of its own, made
/// when it first needs them. What is unpacked may be anything: no bytes whatever lead to more than
/// false.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/block/page_format.h"

#include <string>

namespace freshet::block {

/// Whether this version can read pages of that codec.
bool isKnownCodec(uint8_t codec);

/// Appends `plain` in at most `room` bytes to `out`. False: it does not fit, or cannot be packed;
/// `out` is as it was. REQUIRES: not kNone.
bool packBody(Codec codec, ByteView plain, size_t room, std::string* out);

/// Fills out[0, bytes). False unless `packed` is whole and makes exactly so many. REQUIRES: not
/// kNone.
bool unpackBody(Codec codec, ByteView packed, char* out, size_t bytes);

}  // namespace freshet::block
