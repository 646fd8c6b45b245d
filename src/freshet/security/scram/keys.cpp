// SPDX-License-Identifier: Apache-2.0
#include "freshet/security/scram/keys.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

namespace freshet::security {
namespace {

constexpr size_t kSaltBytesSha1 = 16;    // as MongoDB stores them: four bytes less than a digest,
constexpr size_t kSaltBytesSha256 = 28;  // so that the salt and PBKDF2's counter fill one

const EVP_MD* hashOf(ScramMechanism mechanism) {
    return mechanism == ScramMechanism::kSha1 ? EVP_sha1() : EVP_sha256();
}

const unsigned char* unsignedOf(ByteView bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}

std::string hash(const EVP_MD* digest, ByteView bytes) {
    std::string out(EVP_MAX_MD_SIZE, '\0');
    unsigned int size = 0;
    invariant(EVP_Digest(bytes.data(),
                         bytes.size(),
                         reinterpret_cast<unsigned char*>(out.data()),
                         &size,
                         digest,
                         nullptr) == 1);
    out.resize(size);
    return out;
}

StatusOr<ScramCredentials> credentialsOfPrepared(ScramMechanism mechanism,
                                                 const std::string& prepared,
                                                 uint32_t iterations) {
    if (iterations == 0 || iterations > INT32_MAX) {
        return badValue("The iteration count must be positive");
    }
    ScramCredentials made;
    made.iterations = iterations;
    made.salt = secureRandom(saltBytes(mechanism));
    std::string salted = saltedPassword(mechanism, prepared, made.salt, iterations);
    made.storedKey = digest(mechanism, clientKeyOf(mechanism, salted));
    made.serverKey = serverKeyOf(mechanism, salted);
    forget(&salted);
    return made;
}

}  // namespace

std::string_view mechanismName(ScramMechanism mechanism) {
    return mechanism == ScramMechanism::kSha1 ? "SCRAM-SHA-1" : "SCRAM-SHA-256";
}

StatusOr<std::string> preparePassword(ScramMechanism mechanism,
                                      const std::string& user,
                                      const std::string& password) {
    if (mechanism == ScramMechanism::kSha256) {
        return saslPrepare(password);
    }
    std::string text = user + ":mongo:" + password;
    std::string prepared = toHex(hash(EVP_md5(), text));
    forget(&text);
    return prepared;
}

std::string hmac(ScramMechanism mechanism, ByteView key, ByteView text) {
    std::string out(digestBytes(mechanism), '\0');
    unsigned int size = 0;
    invariant(HMAC(hashOf(mechanism),
                   key.data(),
                   static_cast<int>(key.size()),
                   unsignedOf(text),
                   text.size(),
                   reinterpret_cast<unsigned char*>(out.data()),
                   &size) != nullptr &&
              size == out.size());
    return out;
}

std::string digest(ScramMechanism mechanism, ByteView text) {
    return hash(hashOf(mechanism), text);
}

size_t digestBytes(ScramMechanism mechanism) {
    return mechanism == ScramMechanism::kSha1 ? 20 : 32;
}

size_t saltBytes(ScramMechanism mechanism) {
    return mechanism == ScramMechanism::kSha1 ? kSaltBytesSha1 : kSaltBytesSha256;
}

uint32_t defaultIterations(ScramMechanism mechanism) {
    return mechanism == ScramMechanism::kSha1 ? 10'000 : 15'000;
}

std::string saltedPassword(ScramMechanism mechanism,
                           const std::string& prepared,
                           ByteView salt,
                           uint32_t iterations) {
    std::string out(digestBytes(mechanism), '\0');
    invariant(PKCS5_PBKDF2_HMAC(prepared.data(),
                                static_cast<int>(prepared.size()),
                                unsignedOf(salt),
                                static_cast<int>(salt.size()),
                                static_cast<int>(iterations),
                                hashOf(mechanism),
                                static_cast<int>(out.size()),
                                reinterpret_cast<unsigned char*>(out.data())) == 1);
    return out;
}

std::string clientKeyOf(ScramMechanism mechanism, ByteView salted) {
    return hmac(mechanism, salted, "Client Key");
}

std::string serverKeyOf(ScramMechanism mechanism, ByteView salted) {
    return hmac(mechanism, salted, "Server Key");
}

std::string exclusiveOr(ByteView a, ByteView b) {
    invariant(a.size() == b.size());
    std::string out(a);
    for (size_t i = 0; i < b.size(); ++i) {
        out[i] = static_cast<char>(out[i] ^ b[i]);
    }
    return out;
}

std::string toBase64(ByteView bytes) {
    std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');  // the library adds a zero
    const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                     unsignedOf(bytes),
                                     static_cast<int>(bytes.size()));
    out.resize(static_cast<size_t>(size));
    return out;
}

StatusOr<std::string> fromBase64(ByteView text) {
    if (text.size() % 4 != 0) {
        return Status(Code::kInvalid, "not base64");
    }
    // The library skips white space and accepts '=' anywhere near the end; we do not.
    const size_t padding =
        text.empty() || text.back() != '=' ? 0 : (text[text.size() - 2] == '=' ? 2 : 1);
    const ByteView digits = text.substr(0, text.size() - padding);
    if (digits.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                 "0123456789+/") != ByteView::npos) {
        return Status(Code::kInvalid, "not base64");
    }
    std::string out(text.size() / 4 * 3, '\0');
    const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                     unsignedOf(text),
                                     static_cast<int>(text.size()));
    if (size < 0) {
        return Status(Code::kInvalid, "not base64");
    }
    out.resize(static_cast<size_t>(size) - padding);
    if (toBase64(out) != text) {  // stray bits after the last byte: two texts would mean the same
        return Status(Code::kInvalid, "not base64");
    }
    return out;
}

void forget(std::string* secret) {
    OPENSSL_cleanse(secret->data(), secret->size());
    secret->clear();
}

StatusOr<ScramCredentials> makeCredentials(ScramMechanism mechanism,
                                           const std::string& user,
                                           const std::string& password,
                                           uint32_t iterations) {
    FRESHET_ASSIGN_OR_RETURN(std::string prepared, preparePassword(mechanism, user, password));
    StatusOr<ScramCredentials> made = credentialsOfPrepared(mechanism, prepared, iterations);
    forget(&prepared);
    return made;
}

StatusOr<ScramCredentials> makeCredentialsOfDigest(const std::string& digest, uint32_t iterations) {
    return credentialsOfPrepared(ScramMechanism::kSha1, digest, iterations);
}

bool equalInConstantTime(ByteView a, ByteView b) {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string secureRandom(size_t bytes) {
    std::string out(bytes, '\0');
    // Without random bytes no login is safe: rather no server.
    invariant(RAND_bytes(reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(bytes)) ==
              1);
    return out;
}

std::string sha256(ByteView bytes) {
    return hash(EVP_sha256(), bytes);
}

}  // namespace freshet::security
