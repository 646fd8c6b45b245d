// SPDX-License-Identifier: Apache-2.0
/// SCRAM-SHA-1 and SCRAM-SHA-256 (RFC 5802, RFC 7677), both sides, as MongoDB uses them: the SHA-1
/// password is md5(user:mongo:password) in hex, the SHA-256 one is prepared by SASLprep. Stores
/// nothing: the caller provides the credentials. One conversation belongs to one thread at a time.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/base/status.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace freshet::security {

enum class ScramMechanism : uint8_t { kSha1, kSha256 };

/// "SCRAM-SHA-1", "SCRAM-SHA-256".
std::string_view mechanismName(ScramMechanism mechanism);
/// How often passwords are hashed, as in MongoDB: 10,000 and 15,000 times.
uint32_t defaultIterations(ScramMechanism mechanism);

/// What a server stores about a password. Binary strings, not base64.
struct ScramCredentials {
    uint32_t iterations = 0;
    std::string salt;
    std::string storedKey;
    std::string serverKey;
};

/// With a random salt. Slow by intent (iterations): never on a reactor.
/// kInvalid when the password cannot be prepared.
StatusOr<ScramCredentials> makeCredentials(ScramMechanism mechanism,
                                           const std::string& user,
                                           const std::string& password,
                                           uint32_t iterations);

/// For SHA-1, from what old clients send instead of a password: md5(user:mongo:password) in hex.
StatusOr<ScramCredentials> makeCredentialsOfDigest(const std::string& digest, uint32_t iterations);

/// The user that a client's first message names. kInvalid when it is malformed.
StatusOr<std::string> userOfFirstMessage(ByteView clientMessage);

/// What an unknown user's salt is derived from, besides the name and the mechanism. Repeated
/// attempts get the same salt, also after a restart if `secret` is the same, so they do not reveal
/// that the user does not exist.
struct Pretence {
    std::string secret;  // empty: one of this process
    std::string db;      // of the user
};

/// 24 random bytes as base64.
std::string makeNonce();

/// The server's side of one login.
class ScramServer {
public:
    /// `nonce`: our part of the nonce; tests of published exchanges pass a fixed one.
    /// `lookUp(user)` is called once, with the name from the first message; an error makes the
    /// login fail after the same number of steps and with the same text as a wrong password.
    ScramServer(ScramMechanism mechanism,
                std::function<StatusOr<ScramCredentials>(const std::string& user)> lookUp,
                Pretence pretence = {},
                std::string nonce = makeNonce());
    ~ScramServer();

    /// Takes the client's next message, returns ours. kInvalid: malformed; never kUnavailable; a
    /// wrong proof or unknown user: kInvalid with Reason::kAuthenticationFailed and "Authentication
    /// failed.".
    StatusOr<std::string> step(ByteView clientMessage);
    bool isDone() const;              // the proof was right and our signature has been returned
    const std::string& user() const;  // from the first message; empty before it

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// The client's side of one login.
class ScramClient {
public:
    /// `nonce`: as in ScramServer.
    ScramClient(ScramMechanism mechanism,
                std::string user,
                std::string password,
                std::string nonce = makeNonce());
    ~ScramClient();
    /// The message to send first.
    std::string first();
    /// Takes the server's message, returns our next one; empty when we are done. An error when the
    /// server cannot prove that it knows us.
    StatusOr<std::string> step(ByteView serverMessage);
    bool isDone() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

std::string toBase64(ByteView bytes);
/// kInvalid unless it is base64 with its padding.
StatusOr<std::string> fromBase64(ByteView text);

/// Compares in a time that does not depend on where the difference is.
bool equalInConstantTime(ByteView a, ByteView b);
/// `bytes` bytes from the system's cryptographic source.
std::string secureRandom(size_t bytes);
/// SHA-256 of `bytes`, 32 of them.
std::string sha256(ByteView bytes);

}  // namespace freshet::security
