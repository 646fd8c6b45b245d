// SPDX-License-Identifier: Apache-2.0
/// The calculations of SCRAM: from a prepared password to keys, from keys to proofs. Pure; any
/// thread.
#pragma once

#include "freshet/security/scram.h"

#include <string>

namespace freshet::security {

/// The text that is hashed: SASLprep for SHA-256, md5(user:mongo:password) in hex for SHA-1.
StatusOr<std::string> preparePassword(ScramMechanism mechanism,
                                      const std::string& user,
                                      const std::string& password);
/// RFC 4013. kInvalid for characters that it prohibits and for bytes that are not UTF-8.
StatusOr<std::string> saslPrepare(const std::string& text);

std::string hmac(ScramMechanism mechanism, ByteView key, ByteView text);
std::string digest(ScramMechanism mechanism, ByteView text);
size_t digestBytes(ScramMechanism mechanism);
size_t saltBytes(ScramMechanism mechanism);
std::string saltedPassword(ScramMechanism mechanism,
                           const std::string& prepared,
                           ByteView salt,
                           uint32_t iterations);
std::string clientKeyOf(ScramMechanism mechanism, ByteView salted);
std::string serverKeyOf(ScramMechanism mechanism, ByteView salted);
/// REQUIRES: equal sizes.
std::string exclusiveOr(ByteView a, ByteView b);

/// Overwrites a secret.
void forget(std::string* secret);

}  // namespace freshet::security
