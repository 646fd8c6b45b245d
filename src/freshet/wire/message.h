// SPDX-License-Identifier: Apache-2.0
/// OP_MSG (kinds 0 and 1, checksum, flag bits) and the legacy OP_QUERY / OP_REPLY that a driver's
/// first hello may use: bytes to types and back. Views point into the message's bytes. Pure; any
/// thread.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/wire/frame.h"

#include <cstdint>
#include <string>
#include <vector>

namespace freshet::wire {

inline constexpr uint32_t kFlagChecksumPresent = 1u << 0;
inline constexpr uint32_t kFlagMoreToCome = 1u << 1;
inline constexpr uint32_t kFlagExhaustAllowed = 1u << 16;

/// More document sequences than any command has are refused, so that the check for duplicate names
/// stays cheap.
inline constexpr size_t kSequencesMax = 16;

struct Sequence {
    std::string_view name;
    std::vector<bson::Document> documents;
};

/// An incoming command (or, on the client's side, a reply).
struct Request {
    Header header;
    OpCode op = OpCode::kMsg;  // kMsg, or kQuery for the legacy hello
    uint32_t flags = 0;        // OP_MSG's; 0 for OP_QUERY
    std::string_view ns;       // OP_QUERY only: "admin.$cmd"
    bson::Document body;
    std::vector<Sequence> sequences;

    bool moreToCome() const { return (flags & kFlagMoreToCome) != 0; }
    bool exhaustAllowed() const { return (flags & kFlagExhaustAllowed) != 0; }
};

/// Parses a whole message, header included. kInvalid with kProtocolError (bad structure: the
/// connection must be closed), kInvalidBson, or for unknown required flag bits
/// kIllegalOperation-like errors that can be answered. Validates every document. Unknown op codes:
/// kUnsupported.
StatusOr<Request> parseRequest(ByteView message);
/// Parses OP_MSG or OP_REPLY on the client's side.
StatusOr<Request> parseReply(ByteView message);

/// Appends a whole OP_MSG with one kind-0 section to `out`.
void appendOpMsg(
    std::string* out, int32_t requestId, int32_t responseTo, uint32_t flags, bson::Document body);
/// The same with kind-1 sections.
void appendOpMsg(std::string* out,
                 int32_t requestId,
                 int32_t responseTo,
                 uint32_t flags,
                 bson::Document body,
                 const std::vector<Sequence>& sequences);
/// An OP_MSG that is built in place: first room for what precedes the body, ...
inline constexpr size_t kOpMsgBodyAt = kHeaderBytes + 5;
std::string openOpMsg();
/// ... then, after the body was added, the rest. `bytesLeftOut`: how much of the body is sent from
/// elsewhere; then there is no checksum. REQUIRES: one document at kOpMsgBodyAt.
void sealOpMsg(std::string* message,
               int32_t requestId,
               int32_t responseTo,
               uint32_t flags,
               size_t bytesLeftOut = 0);
/// Appends an OP_REPLY with one document (answers OP_QUERY).
void appendOpReply(std::string* out, int32_t requestId, int32_t responseTo, bson::Document body);

}  // namespace freshet::wire
