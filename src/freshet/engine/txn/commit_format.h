// SPDX-License-Identifier: Apache-2.0
/// Body of a COMMIT record in the journal: everything that one transaction changed, in all trees,
/// as
/// after-images; idempotent when replayed in LSN order. Little endian, no padding.
///
///   header    version u8 = 1 | flags u8 = 0 | reserved u16 = 0 | ops u32
///   op        tree u32 | kind u8 (1 put, 2 delete) | flags u8 = 0 | reserved u16 = 0
///             | keyBytes u32 | valueBytes u32 (0 for a delete) | key | value
///   events    bytes u32, then that many bytes: the event section below; empty so far
///
/// Redo does not read the event section. It has a version of its own, and a reader that does not
/// know the version skips it. Version 1, for change streams and retryable writes:
///
///   section   version u8 = 1 | flags u8 = 0 | reserved u16 = 0 | events u32 | wallMs i64
///   event     bytes u32 of all that follows | kind u8 (1 insert, 2 update, 3 replace, 4 delete,
///             5 command) | flags u8 | reserved u16 = 0, then each as bytes u32 and that many
///             bytes: session (lsid, txnNumber i64, stmtId i32; or nothing), namespace, document
///             key, description (update description, pre-image or command, as BSON; or nothing)
///
/// A key that was changed twice appears twice; the later op counts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freshet::engine {

inline constexpr uint8_t kCommitVersion = 1;
inline constexpr size_t kCommitHeaderBytes = 8;
inline constexpr size_t kCommitOpsOffset = 4;
inline constexpr size_t kCommitOpBytes = 16;
inline constexpr size_t kCommitEventBytes = 4;

enum class CommitOp : uint8_t { kPut = 1, kDelete = 2 };

}  // namespace freshet::engine
