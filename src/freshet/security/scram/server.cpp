// SPDX-License-Identifier: Apache-2.0
/// The server's side of a login.
#include "freshet/security/scram/keys.h"
#include "freshet/security/scram/messages.h"

namespace freshet::security {
namespace {

/// Credentials for an unknown user, for which no password is known. The salts of the two mechanisms
/// are unrelated, like those of a real user.
ScramCredentials pretend(ScramMechanism mechanism,
                         const Pretence& pretence,
                         const std::string& user) {
    static const std::string kOfProcess = secureRandom(32);
    std::string name(mechanismName(mechanism));
    name.append(1, '\0').append(pretence.db).append(1, '.').append(user);
    const std::string& secret = pretence.secret.empty() ? kOfProcess : pretence.secret;
    ScramCredentials out;
    out.iterations = defaultIterations(mechanism);
    out.salt = hmac(ScramMechanism::kSha256, secret, name).substr(0, saltBytes(mechanism));
    out.storedKey = secureRandom(digestBytes(mechanism));
    out.serverKey = secureRandom(digestBytes(mechanism));
    return out;
}

Status refused() {
    return invalid(Reason::kAuthenticationFailed, "Authentication failed.");
}

}  // namespace

struct ScramServer::Impl {
    enum class Stage : uint8_t { kFirst, kFinal, kDone, kFailed };

    StatusOr<std::string> first(ByteView message);
    StatusOr<std::string> final(ByteView message);

    ScramMechanism mechanism;
    std::function<StatusOr<ScramCredentials>(const std::string&)> lookUp;
    Pretence pretence;
    Stage stage = Stage::kFirst;
    std::string user;
    bool isKnown = false;
    ScramCredentials credentials;
    std::string gs2Header;
    std::string ownNonce;
    std::string nonce;  // the client's and ours
    std::string soFar;  // the messages so far, which will be signed
};

StatusOr<std::string> ScramServer::Impl::first(ByteView message) {
    FRESHET_ASSIGN_OR_RETURN(ClientFirst parsed, parseClientFirst(message));
    user = parsed.user;
    StatusOr<ScramCredentials> found = lookUp(user);
    isKnown = found.isOk() && found->storedKey.size() == digestBytes(mechanism) &&
              found->serverKey.size() == digestBytes(mechanism);
    credentials = isKnown ? std::move(*found) : pretend(mechanism, pretence, user);
    gs2Header = std::string(parsed.gs2Header);
    nonce = std::string(parsed.nonce) + ownNonce;
    std::string reply = "r=" + nonce + ",s=" + toBase64(credentials.salt) +
                        ",i=" + std::to_string(credentials.iterations);
    soFar = std::string(parsed.bare) + "," + reply;
    stage = Stage::kFinal;
    return reply;
}

StatusOr<std::string> ScramServer::Impl::final(ByteView message) {
    FRESHET_ASSIGN_OR_RETURN(ClientFinal parsed, parseClientFinal(message));
    const bool isOurs = parsed.nonce == nonce && parsed.channelBinding == gs2Header;
    const std::string signedText = soFar + "," + std::string(parsed.withoutProof);
    const std::string signature = hmac(mechanism, credentials.storedKey, signedText);
    if (parsed.proof.size() != signature.size()) {
        return refused();
    }
    const std::string clientKey = exclusiveOr(parsed.proof, signature);
    const bool isRight = equalInConstantTime(digest(mechanism, clientKey), credentials.storedKey);
    if (!isOurs || !isRight || !isKnown) {
        return refused();
    }
    stage = Stage::kDone;
    return "v=" + toBase64(hmac(mechanism, credentials.serverKey, signedText));
}

ScramServer::ScramServer(ScramMechanism mechanism,
                         std::function<StatusOr<ScramCredentials>(const std::string& user)> lookUp,
                         Pretence pretence,
                         std::string nonce)
    : impl_(std::make_unique<Impl>()) {
    impl_->mechanism = mechanism;
    impl_->lookUp = std::move(lookUp);
    impl_->pretence = std::move(pretence);
    impl_->ownNonce = std::move(nonce);
}

ScramServer::~ScramServer() = default;

StatusOr<std::string> ScramServer::step(ByteView clientMessage) {
    const Impl::Stage stage = impl_->stage;
    impl_->stage = Impl::Stage::kFailed;  // until this step has succeeded
    switch (stage) {
        case Impl::Stage::kFirst:
            return impl_->first(clientMessage);
        case Impl::Stage::kFinal:
            return impl_->final(clientMessage);
        case Impl::Stage::kDone:
        case Impl::Stage::kFailed:
            return invalid(Reason::kAuthenticationFailed, "The login has ended already");
    }
    return refused();
}

bool ScramServer::isDone() const {
    return impl_->stage == Impl::Stage::kDone;
}

const std::string& ScramServer::user() const {
    return impl_->user;
}

}  // namespace freshet::security
