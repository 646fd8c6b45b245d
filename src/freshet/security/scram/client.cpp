// SPDX-License-Identifier: Apache-2.0
/// The client's side of a login.
#include "freshet/security/scram/keys.h"
#include "freshet/security/scram/messages.h"

namespace freshet::security {
namespace {

constexpr uint32_t kIterationsMin = 4096;  // fewer would make guessing easy for a false server
constexpr uint32_t kIterationsMax = 10'000'000;  // more would keep us busy for minutes

Status distrust(const std::string& why) {
    return invalid(Reason::kAuthenticationFailed, "Authentication failed: " + why);
}

}  // namespace

struct ScramClient::Impl {
    enum class Stage : uint8_t { kFirst, kFinal, kDone, kFailed };

    StatusOr<std::string> prove(ByteView serverFirst);
    StatusOr<std::string> verify(ByteView serverFinal);

    ScramMechanism mechanism;
    std::string user;
    std::string password;
    std::string nonce;
    std::string bare = "n=" + escapeName(user) + ",r=" + nonce;
    std::string serverSignature{};
    Stage stage = Stage::kFirst;
};

StatusOr<std::string> ScramClient::Impl::prove(ByteView serverFirst) {
    FRESHET_ASSIGN_OR_RETURN(ServerFirst parsed, parseServerFirst(serverFirst));
    if (parsed.nonce.size() <= nonce.size() || parsed.nonce.substr(0, nonce.size()) != nonce) {
        return distrust("the server's nonce does not continue ours");
    }
    if (parsed.iterations < kIterationsMin || parsed.iterations > kIterationsMax) {
        return distrust("the server asks for " + std::to_string(parsed.iterations) + " iterations");
    }
    FRESHET_ASSIGN_OR_RETURN(std::string prepared, preparePassword(mechanism, user, password));
    std::string salted = saltedPassword(mechanism, prepared, parsed.salt, parsed.iterations);
    const std::string withoutProof = "c=biws,r=" + std::string(parsed.nonce);
    const std::string signedText = bare + "," + std::string(serverFirst) + "," + withoutProof;
    const std::string clientKey = clientKeyOf(mechanism, salted);
    const std::string storedKey = digest(mechanism, clientKey);
    const std::string proof = exclusiveOr(clientKey, hmac(mechanism, storedKey, signedText));
    serverSignature = hmac(mechanism, serverKeyOf(mechanism, salted), signedText);
    forget(&salted);
    forget(&prepared);
    forget(&password);
    stage = Stage::kFinal;
    return withoutProof + ",p=" + toBase64(proof);
}

StatusOr<std::string> ScramClient::Impl::verify(ByteView serverFinal) {
    if (serverFinal.substr(0, 2) == "e=") {
        return distrust("the server says: " + std::string(serverFinal.substr(2, 100)));
    }
    const bool hasSignature = serverFinal.substr(0, 2) == "v=";
    const StatusOr<std::string> signature =
        fromBase64(hasSignature ? serverFinal.substr(2, serverFinal.find(',') - 2) : "!");
    if (!signature.isOk() || !equalInConstantTime(*signature, serverSignature)) {
        return distrust("the server does not know the password");
    }
    stage = Stage::kDone;
    return std::string();
}

ScramClient::ScramClient(ScramMechanism mechanism,
                         std::string user,
                         std::string password,
                         std::string nonce)
    : impl_(new Impl{mechanism, std::move(user), std::move(password), std::move(nonce)}) {}

ScramClient::~ScramClient() {
    forget(&impl_->password);
}

std::string ScramClient::first() {
    return "n,," + impl_->bare;
}

StatusOr<std::string> ScramClient::step(ByteView serverMessage) {
    const Impl::Stage stage = impl_->stage;
    impl_->stage = Impl::Stage::kFailed;  // until this step has succeeded
    switch (stage) {
        case Impl::Stage::kFirst:
            return impl_->prove(serverMessage);
        case Impl::Stage::kFinal:
            return impl_->verify(serverMessage);
        case Impl::Stage::kDone:
        case Impl::Stage::kFailed:
            break;
    }
    return distrust("the login has ended already");
}

bool ScramClient::isDone() const {
    return impl_->stage == Impl::Stage::kDone;
}

}  // namespace freshet::security
