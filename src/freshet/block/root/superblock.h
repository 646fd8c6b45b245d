// SPDX-License-Identifier: Apache-2.0
/// Converts superblocks to bytes and back.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/base/status.h"
#include "freshet/block/root/superblock_format.h"

#include <string>

namespace freshet::block {

/// The bytes of one copy, with the checksum filled in.
std::string encodeSuperblock(Superblock superblock);
/// `bytes` as read from one copy. kCorruption when they are not a whole superblock, kUnsupported
/// when a newer version wrote them; the text does not name the file.
StatusOr<Superblock> decodeSuperblock(ByteView bytes);

}  // namespace freshet::block
