// SPDX-License-Identifier: Apache-2.0
/// The messages by which the two sides of a TCP connection agree to move to RDMA. To other software
/// they are an unknown command. docs/formats/rdma.md. Pure.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/transport/rdma/link.h"

#include <cstdint>
#include <optional>
#include <string>

namespace freshet::transport::rdma {

inline constexpr uint16_t kVersion = 1;

enum class Step : uint16_t {
    kOffer = 1,    // the client's end
    kAnswer = 2,   // the server's, or why not
    kConfirm = 3,  // the client has seen the server's probe, or gives up
    kSettled = 4,  // the server has seen the client's probe: both move
};

enum class Verdict : uint32_t {
    kYes = 0,
    kVersion = 1,
    kNoDevice = 2,
    kTooMany = 3,
    kTls = 4,  // TLS connections do not move
    kFailed = 5,
    kNoProbe = 6,
    kUnknown = 7,  // never sent: the server does not know the command
    kLayout = 8,   // the wanted layout (one slot) is not granted
};
const char* name(Verdict verdict);

struct Proposal {
    uint16_t version = kVersion;
    Step step = Step::kOffer;
    Verdict verdict = Verdict::kYes;
    EndInfo end;  // of offers, and of answers that say yes
};

/// A whole message; `responseTo` is 0 in messages of the client.
std::string encodeProposal(const Proposal& proposal, int32_t requestId, int32_t responseTo);
/// The proposal in `message`; nothing when it is any other message. The end's sizes are valid only
/// if isUsable() says so.
std::optional<Proposal> decodeProposal(ByteView message);
/// The same, as the private data of a call and of its answer: without the nonce and what the
/// connection manager itself carries.
std::string encodeCallData(const Proposal& proposal);
/// More bytes may follow. Nothing when it is not of this protocol.
std::optional<Proposal> decodeCallData(ByteView data);
bool isUsable(const EndInfo& end);
/// "10.9.0.1" of "10.9.0.1:27017", "::1" of "[::1]:27017".
std::string hostOf(const std::string& endpoint);

}  // namespace freshet::transport::rdma
