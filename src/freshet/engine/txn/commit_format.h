// SPDX-License-Identifier: Apache-2.0
/// Body of a COMMIT record in the journal: everything that one transaction changed, in all trees,
/// as after-images; idempotent when replayed in LSN order. Little endian, no padding.
///
///   header    version u8 = 1 | flags u8 (kCommitHasEvents) | reserved u16 = 0 | ops u32
///   op        tree u32 | kind u8 (1 put, 2 delete) | flags u8 = 0 | reserved u16 = 0
///             | keyBytes u32 | valueBytes u32 (0 for a delete) | key | value
///   events    bytes u32, then that many bytes: the event section below; often empty
///
/// Redo does not read the event section. It has a version of its own, and a reader that does not
/// know the version skips it. Version 1:
///
///   section   version u8 = 1 | flags u8 = 0 | reserved u16 = 0 | events u32 | wallMs i64
///   event     bytes u32, then that many bytes, which mean nothing to the engine
///
/// A transaction that is too large for one record is a chain of records, of version 2: as version
/// 1, with this behind the event section:
///
///   chain     first u64 (LSN of the chain's first record; 0 in that one) | number u32 (of this
///             record, from 0) | last u32 (1 in the last one, else 0)
///
/// The chain counts, as one commit, when its last record is there. Records of other transactions
/// may be between its own.
///
/// A key that was changed twice appears twice; the later op counts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freshet::engine {

inline constexpr uint8_t kCommitVersion = 1;
inline constexpr uint8_t kCommitChainVersion = 2;
inline constexpr size_t kCommitHeaderBytes = 8;
inline constexpr size_t kCommitFlagsOffset = 1;
inline constexpr size_t kCommitOpsOffset = 4;
inline constexpr size_t kCommitOpBytes = 16;
inline constexpr size_t kCommitEventBytes = 4;  // the length of the section, or of an event

/// The event section is not empty.
inline constexpr uint8_t kCommitHasEvents = 1;

inline constexpr size_t kChainBytes = 16;
inline constexpr size_t kChainNumberOffset = 8;
inline constexpr size_t kChainLastOffset = 12;

inline constexpr uint8_t kEventsVersion = 1;
inline constexpr size_t kEventsHeaderBytes = 16;
inline constexpr size_t kEventsCountOffset = 4;
inline constexpr size_t kEventsWallOffset = 8;

}  // namespace freshet::engine
