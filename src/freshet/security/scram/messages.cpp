// SPDX-License-Identifier: Apache-2.0
#include "freshet/security/scram/messages.h"

#include "freshet/security/scram/keys.h"

#include <utility>

namespace freshet::security {
namespace {

constexpr size_t kNonceBytes = 24;

Status malformed(std::string_view what) {
    return Status(Code::kInvalid,
                  Reason::kAuthenticationFailed,
                  "Malformed SCRAM message: " + std::string(what));
}

/// Takes "x=value" and the comma after it off the front of `rest`.
StatusOr<ByteView> takeAttribute(ByteView* rest, char key) {
    if (rest->size() < 2 || (*rest)[0] != key || (*rest)[1] != '=') {
        return malformed(std::string("attribute '") + key + "' is missing");
    }
    const size_t end = std::min(rest->find(','), rest->size());
    const ByteView value = rest->substr(2, end - 2);
    rest->remove_prefix(std::min(end + 1, rest->size()));
    return value;
}

StatusOr<std::string> unescapeName(ByteView escaped) {
    std::string out;
    for (size_t i = 0; i < escaped.size(); ++i) {
        if (escaped[i] != '=') {
            out += escaped[i];
        } else if (escaped.substr(i, 3) == "=2C") {
            out += ',';
            i += 2;
        } else if (escaped.substr(i, 3) == "=3D") {
            out += '=';
            i += 2;
        } else {
            return malformed("the name has a stray '='");
        }
    }
    if (out.empty()) {
        return malformed("the name is empty");
    }
    return out;
}

Status checkSize(ByteView message) {
    return message.size() > kScramMessageBytesMax ? malformed("too long") : Status::ok();
}

}  // namespace

StatusOr<ClientFirst> parseClientFirst(ByteView message) {
    FRESHET_RETURN_IF_ERROR(checkSize(message));
    ClientFirst out;
    out.gs2Header = message.substr(0, 3);
    if (out.gs2Header != "n,," && out.gs2Header != "y,,") {
        return malformed("an authorization name or channel binding is not supported");
    }
    out.bare = message.substr(3);
    ByteView rest = out.bare;  // a mandatory extension "m=" in front is an error, as RFC 5802 asks
    FRESHET_ASSIGN_OR_RETURN(ByteView name, takeAttribute(&rest, 'n'));
    FRESHET_ASSIGN_OR_RETURN(out.user, unescapeName(name));
    FRESHET_ASSIGN_OR_RETURN(out.nonce, takeAttribute(&rest, 'r'));
    if (out.nonce.empty()) {
        return malformed("the nonce is empty");
    }
    return out;
}

StatusOr<ServerFirst> parseServerFirst(ByteView message) {
    FRESHET_RETURN_IF_ERROR(checkSize(message));
    ServerFirst out;
    FRESHET_ASSIGN_OR_RETURN(out.nonce, takeAttribute(&message, 'r'));
    FRESHET_ASSIGN_OR_RETURN(ByteView salt, takeAttribute(&message, 's'));
    FRESHET_ASSIGN_OR_RETURN(out.salt, fromBase64(salt));
    FRESHET_ASSIGN_OR_RETURN(ByteView count, takeAttribute(&message, 'i'));
    if (count.empty() || count.size() > 9) {
        return malformed("the iteration count is out of range");
    }
    for (char digit : count) {
        if (digit < '0' || digit > '9') {
            return malformed("the iteration count is not a number");
        }
        out.iterations = out.iterations * 10 + static_cast<uint32_t>(digit - '0');
    }
    return out;
}

StatusOr<ClientFinal> parseClientFinal(ByteView message) {
    FRESHET_RETURN_IF_ERROR(checkSize(message));
    ClientFinal out;
    ByteView rest = message;
    FRESHET_ASSIGN_OR_RETURN(ByteView binding, takeAttribute(&rest, 'c'));
    FRESHET_ASSIGN_OR_RETURN(out.channelBinding, fromBase64(binding));
    FRESHET_ASSIGN_OR_RETURN(out.nonce, takeAttribute(&rest, 'r'));
    const size_t proofAt = message.rfind(",p=");  // extensions may come before it
    if (proofAt == ByteView::npos) {
        return malformed("the proof is missing");
    }
    out.withoutProof = message.substr(0, proofAt);
    FRESHET_ASSIGN_OR_RETURN(out.proof, fromBase64(message.substr(proofAt + 3)));
    return out;
}

std::string escapeName(const std::string& name) {
    std::string out;
    for (char c : name) {
        if (c == ',') {
            out += "=2C";
        } else if (c == '=') {
            out += "=3D";
        } else {
            out += c;
        }
    }
    return out;
}

std::string makeNonce() {
    return toBase64(secureRandom(kNonceBytes));
}

StatusOr<std::string> userOfFirstMessage(ByteView clientMessage) {
    FRESHET_ASSIGN_OR_RETURN(ClientFirst first, parseClientFirst(clientMessage));
    return std::move(first.user);
}

}  // namespace freshet::security
