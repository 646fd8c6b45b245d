// SPDX-License-Identifier: Apache-2.0
/// Reads keys, certificates and revocation lists into a TLS context, with a text for the operator
/// about any fault in a file.
#include "freshet/security/tls/context.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <cstring>

namespace freshet::security {
namespace {

/// Forward secrecy only; TLS 1.3 has its own list, whose default is fine.
constexpr char kCiphers[] = "ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE+AES:!aNULL:!eNULL:!MD5:!DSS:!3DES";

Status badFile(const std::string& file, const std::string& what) {
    return Status(Code::kInvalid, Reason::kInvalidOptions, file + ": " + what);
}

/// The password of a private key, and whether the library asked for one.
struct KeyPassword {
    const std::string& text;
    bool wasAsked = false;
};

/// Never prompts on a terminal: a server has none.
int givePassword(char* buffer, int size, int, void* given) {
    auto* password = static_cast<KeyPassword*>(given);
    password->wasAsked = true;
    const std::string& text = password->text;
    if (text.empty() || text.size() > static_cast<size_t>(size)) {
        return -1;
    }
    std::memcpy(buffer, text.data(), text.size());
    return static_cast<int>(text.size());
}

int acceptAnyCertificate(int, X509_STORE_CTX*) {
    return 1;
}

StatusOr<Owned<BIO>> openFile(const std::string& file) {
    ERR_clear_error();
    Owned<BIO> bio(BIO_new_file(file.c_str(), "r"));
    if (bio == nullptr) {
        return badFile(file, "cannot be read: " + takeLibraryError());
    }
    return bio;
}

Status loadKey(SSL_CTX* ctx, const TlsOptions& options) {
    const std::string& file = options.certificateKeyFile;
    FRESHET_ASSIGN_OR_RETURN(Owned<BIO> bio, openFile(file));
    KeyPassword password{options.certificateKeyPassword};
    Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, givePassword, &password));
    if (key == nullptr) {
        // The library's errors are ambiguous: a wrong password yields garbage, which sometimes has
        // valid padding and then fails only as a key of unknown kind.
        if (password.wasAsked) {
            ERR_clear_error();
            return badFile(file,
                           password.text.empty()
                               ? "the private key is encrypted and no password is given"
                               : "the password of the private key is wrong");
        }
        return badFile(file, "has no readable private key: " + takeLibraryError());
    }
    if (SSL_CTX_use_PrivateKey(ctx, key.get()) != 1 || SSL_CTX_check_private_key(ctx) != 1) {
        ERR_clear_error();
        return badFile(file, "the private key does not belong to the certificate");
    }
    return Status::ok();
}

Status loadCertificate(SSL_CTX* ctx, const TlsOptions& options) {
    const std::string& file = options.certificateKeyFile;
    FRESHET_RETURN_IF_ERROR(openFile(file).status());
    if (SSL_CTX_use_certificate_chain_file(ctx, file.c_str()) != 1) {
        return badFile(file, "has no readable certificate: " + takeLibraryError());
    }
    const X509* certificate = SSL_CTX_get0_certificate(ctx);
    if (X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0 ||
        X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0) {
        return badFile(file, "the certificate is expired or not yet valid");
    }
    return loadKey(ctx, options);
}

Status loadAuthorities(SSL_CTX* ctx, TlsSide side, const std::string& file) {
    if (file.empty()) {
        if (side == TlsSide::kClient && SSL_CTX_set_default_verify_paths(ctx) != 1) {
            return Status(
                Code::kInvalid,
                Reason::kInvalidOptions,
                "the system's certificate authorities cannot be read: " + takeLibraryError());
        }
        return Status::ok();
    }
    FRESHET_RETURN_IF_ERROR(openFile(file).status());
    if (SSL_CTX_load_verify_file(ctx, file.c_str()) != 1) {
        return badFile(file, "has no readable certificate of an authority: " + takeLibraryError());
    }
    if (side == TlsSide::kServer) {
        SSL_CTX_set_client_CA_list(ctx, SSL_load_client_CA_file(file.c_str()));
    }
    return Status::ok();
}

Status loadRevoked(SSL_CTX* ctx, const TlsOptions& options) {
    if (options.crlFile.empty()) {
        return Status::ok();
    }
    const std::string& file = options.crlFile;
    if (options.caFile.empty()) {
        return badFile(file, "a list of revoked certificates needs a file of authorities");
    }
    FRESHET_ASSIGN_OR_RETURN(Owned<BIO> bio, openFile(file));
    X509_STORE* store = SSL_CTX_get_cert_store(ctx);
    int count = 0;
    while (true) {
        Owned<X509_CRL> crl(PEM_read_bio_X509_CRL(bio.get(), nullptr, nullptr, nullptr));
        if (crl == nullptr) {
            break;
        }
        if (X509_STORE_add_crl(store, crl.get()) != 1) {
            return badFile(file, "cannot be used: " + takeLibraryError());
        }
        ++count;
    }
    const bool isAtEnd = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    if (count == 0 || !isAtEnd) {
        return badFile(file, "has no readable list of revoked certificates: " + takeLibraryError());
    }
    ERR_clear_error();
    X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
    return Status::ok();
}

Status setProtocols(SSL_CTX* ctx, const TlsOptions& options) {
    uint64_t flags = SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET |
                     SSL_OP_CIPHER_SERVER_PREFERENCE;
    for (const std::string& name : options.disabledProtocols) {
        if (name == "TLS1_2") {
            flags |= SSL_OP_NO_TLSv1_2;
        } else if (name == "TLS1_3") {
            flags |= SSL_OP_NO_TLSv1_3;
        } else if (name != "TLS1_0" && name != "TLS1_1") {  // those versions are never used
            return Status(Code::kInvalid,
                          Reason::kInvalidOptions,
                          "Unrecognized disabledProtocols '" + name + "'");
        }
    }
    if ((flags & SSL_OP_NO_TLSv1_2) != 0 && (flags & SSL_OP_NO_TLSv1_3) != 0) {
        return Status(
            Code::kInvalid, Reason::kInvalidOptions, "disabledProtocols leaves no TLS protocol");
    }
    SSL_CTX_set_options(ctx, flags);
    SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
    SSL_CTX_set_num_tickets(ctx, 0);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    // An idle connection keeps no record buffers.
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    invariant(SSL_CTX_set_cipher_list(ctx, kCiphers) == 1);
    return Status::ok();
}

void setVerification(SSL_CTX* ctx, TlsSide side, const TlsOptions& options) {
    int mode = SSL_VERIFY_PEER;
    if (side == TlsSide::kServer) {
        if (options.caFile.empty()) {
            mode = SSL_VERIFY_NONE;
        } else if (!options.allowConnectionsWithoutCertificates &&
                   !options.allowInvalidCertificates) {
            mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
        }
    }
    SSL_CTX_set_verify(
        ctx, mode, options.allowInvalidCertificates ? acceptAnyCertificate : nullptr);
}

}  // namespace

std::string takeLibraryError() {
    const unsigned long error = ERR_peek_last_error();  // NOLINT: the library's type
    std::string text = "unknown error";
    if (ERR_SYSTEM_ERROR(error)) {
        text = std::strerror(ERR_GET_REASON(error));
    } else if (const char* reason = ERR_reason_error_string(error); reason != nullptr) {
        text = reason;
    }
    // A missing file leaves two errors: the system's is the useful one.
    const unsigned long first = ERR_peek_error();  // NOLINT: as above
    if (ERR_SYSTEM_ERROR(first)) {
        text = std::strerror(ERR_GET_REASON(first));
    }
    ERR_clear_error();
    return text;
}

StatusOr<std::shared_ptr<const TlsContext>> TlsContext::make(TlsSide side,
                                                             const TlsOptions& options) {
    ERR_clear_error();
    const bool isServer = side == TlsSide::kServer;
    if (isServer && options.certificateKeyFile.empty()) {
        return Status(Code::kInvalid,
                      Reason::kInvalidOptions,
                      "need tlsCertificateKeyFile when TLS is enabled");
    }
    Owned<SSL_CTX> ctx(SSL_CTX_new(isServer ? TLS_server_method() : TLS_client_method()));
    if (ctx == nullptr) {
        return Status(Code::kIo, "cannot set up TLS: " + takeLibraryError());
    }
    FRESHET_RETURN_IF_ERROR(setProtocols(ctx.get(), options));
    if (!options.certificateKeyFile.empty()) {
        FRESHET_RETURN_IF_ERROR(loadCertificate(ctx.get(), options));
    }
    FRESHET_RETURN_IF_ERROR(loadAuthorities(ctx.get(), side, options.caFile));
    FRESHET_RETURN_IF_ERROR(loadRevoked(ctx.get(), options));
    setVerification(ctx.get(), side, options);
    ERR_clear_error();
    const bool checksHostName = !options.allowInvalidHostnames && !options.allowInvalidCertificates;
    return std::shared_ptr<const TlsContext>(
        std::make_shared<TlsContextImpl>(side, checksHostName, std::move(ctx)));
}

}  // namespace freshet::security
