// SPDX-License-Identifier: Apache-2.0
/// TlsChannel: the library's state machine between two buffers. The library reads and writes
/// through a BIO of ours, which frees memory as soon as a buffer is empty; the library's own memory
/// BIO would keep its largest size for the life of an idle connection.
#include "freshet/security/tls/context.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace freshet::security {
namespace {

constexpr size_t kRecordBytesMax = 16 * 1024;

/// Cipher bytes in transit. The channel owns it, its BIO points to it.
struct Pipe {
    std::string in;  // from the peer; the library has read the first `inRead` bytes
    size_t inRead = 0;
    std::string out;  // for the peer
};

Pipe* pipeOf(BIO* bio) {
    return static_cast<Pipe*>(BIO_get_data(bio));
}

int readFromPipe(BIO* bio, char* to, size_t bytes, size_t* got) {
    BIO_clear_retry_flags(bio);
    Pipe* pipe = pipeOf(bio);
    *got = std::min(bytes, pipe->in.size() - pipe->inRead);
    if (*got == 0) {
        BIO_set_retry_read(bio);
        return 0;
    }
    std::memcpy(to, pipe->in.data() + pipe->inRead, *got);
    pipe->inRead += *got;
    if (pipe->inRead == pipe->in.size()) {
        std::string().swap(pipe->in);
        pipe->inRead = 0;
    }
    return 1;
}

int writeToPipe(BIO* bio, const char* from, size_t bytes, size_t* written) {
    pipeOf(bio)->out.append(from, bytes);
    *written = bytes;
    return 1;
}

/// The library asks for a flush after each flight; other commands do not concern us.
long controlPipe(BIO*, int command, long, void*) {  // NOLINT: the library's types
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

const BIO_METHOD* pipeMethod() {
    static const Owned<BIO_METHOD> kMethod = [] {
        Owned<BIO_METHOD> method(
            BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "freshet pipe"));
        invariant(method != nullptr);
        BIO_meth_set_read_ex(method.get(), readFromPipe);
        BIO_meth_set_write_ex(method.get(), writeToPipe);
        BIO_meth_set_ctrl(method.get(), controlPipe);
        return method;
    }();
    return kMethod.get();
}

bool isAddress(const std::string& name) {
    ASN1_OCTET_STRING* address = a2i_IPADDRESS(name.c_str());
    const bool isOne = address != nullptr;
    ASN1_OCTET_STRING_free(address);
    return isOne;
}

class TlsChannelImpl final : public TlsChannel {
public:
    TlsChannelImpl(std::shared_ptr<const TlsContext> context, Owned<SSL> ssl)
        : context_(std::move(context)), ssl_(std::move(ssl)) {}

    Status start(const TlsContextImpl& context, const std::string& peerName);

    Status feedCipher(ByteView bytes) override;
    std::string drainCipher() override { return std::exchange(pipe_.out, {}); }
    bool isHandshakeDone() const override { return isHandshakeDone_; }
    Status writePlain(ByteView bytes) override;
    StatusOr<size_t> readPlain(std::string* out, size_t bytes) override;
    bool isPeerClosed() const override { return isPeerClosed_; }
    void close() override;
    std::string peerSubject() const override;
    std::string serverNameIndication() const override { return serverName_; }

private:
    Status shakeHands();
    Status failed(int result);
    std::string whatWentWrong();

    const std::shared_ptr<const TlsContext> context_;
    Pipe pipe_;
    Owned<SSL> ssl_;  // points at pipe_
    bool isHandshakeDone_ = false;
    bool isPeerClosed_ = false;
    std::string serverName_;
    Status failure_;  // the first one; nothing works after it
};

Status TlsChannelImpl::start(const TlsContextImpl& context, const std::string& peerName) {
    BIO* bio = BIO_new(pipeMethod());
    if (bio == nullptr) {
        return Status(Code::kIo, "cannot set up TLS: " + takeLibraryError());
    }
    BIO_set_data(bio, &pipe_);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);  // takes the one reference for both directions
    if (context.side() == TlsSide::kServer) {
        SSL_set_accept_state(ssl_.get());
        return Status::ok();
    }
    SSL_set_connect_state(ssl_.get());
    if (!peerName.empty()) {
        const bool isIp = isAddress(peerName);
        if (!isIp && SSL_set_tlsext_host_name(ssl_.get(), peerName.c_str()) != 1) {
            return Status(Code::kInvalid, "not a host name: '" + peerName + "'");
        }
        if (context.checksHostName()) {
            X509_VERIFY_PARAM* rules = SSL_get0_param(ssl_.get());
            X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
            const int isSet = isIp ? X509_VERIFY_PARAM_set1_ip_asc(rules, peerName.c_str())
                                   : X509_VERIFY_PARAM_set1_host(rules, peerName.c_str(), 0);
            if (isSet != 1) {
                return Status(Code::kInvalid, "not a host name: '" + peerName + "'");
            }
        }
    }
    return shakeHands();  // the client speaks first
}

std::string TlsChannelImpl::whatWentWrong() {
    const int verified = static_cast<int>(SSL_get_verify_result(ssl_.get()));
    const unsigned long error = ERR_peek_last_error();  // NOLINT: the library's type
    if (ERR_GET_LIB(error) == ERR_LIB_SSL &&
        ERR_GET_REASON(error) == SSL_R_CERTIFICATE_VERIFY_FAILED && verified != X509_V_OK) {
        ERR_clear_error();
        return std::string("the peer's certificate is refused: ") +
               X509_verify_cert_error_string(verified);
    }
    return takeLibraryError();
}

Status TlsChannelImpl::failed(int result) {
    const int error = SSL_get_error(ssl_.get(), result);
    if (error == SSL_ERROR_WANT_READ) {
        return Status::ok();
    }
    failure_ = Status(Code::kInvalid,
                      Reason::kProtocolError,
                      (isHandshakeDone_ ? "TLS: " : "TLS handshake failed: ") + whatWentWrong());
    return failure_;
}

Status TlsChannelImpl::shakeHands() {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_.get());
    if (result != 1) {
        return failed(result);
    }
    isHandshakeDone_ = true;
    if (const char* name = SSL_get_servername(ssl_.get(), TLSEXT_NAMETYPE_host_name)) {
        serverName_ = name;
    }
    return Status::ok();
}

Status TlsChannelImpl::feedCipher(ByteView bytes) {
    FRESHET_RETURN_IF_ERROR(failure_);
    pipe_.in.erase(0, std::exchange(pipe_.inRead, 0));
    pipe_.in.append(bytes);
    return isHandshakeDone_ ? Status::ok() : shakeHands();
}

Status TlsChannelImpl::writePlain(ByteView bytes) {
    invariant(isHandshakeDone_);
    FRESHET_RETURN_IF_ERROR(failure_);
    if (bytes.empty()) {
        return Status::ok();
    }
    ERR_clear_error();
    size_t written = 0;
    if (SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &written) != 1) {
        FRESHET_RETURN_IF_ERROR(failed(0));
        failure_ = Status(Code::kInvalid, Reason::kProtocolError, "TLS: the peer is mid-handshake");
        return failure_;
    }
    invariant(written == bytes.size());  // without partial writes, our pipe accepts everything
    return Status::ok();
}

StatusOr<size_t> TlsChannelImpl::readPlain(std::string* out, size_t bytes) {
    FRESHET_RETURN_IF_ERROR(failure_);
    size_t total = 0;
    while (isHandshakeDone_ && total < bytes && !isPeerClosed_) {
        const size_t room = std::min(bytes - total, kRecordBytesMax);
        const size_t before = out->size();
        out->resize(before + room);
        size_t got = 0;
        ERR_clear_error();
        const int result = SSL_read_ex(ssl_.get(), out->data() + before, room, &got);
        out->resize(before + got);
        total += got;
        if (result != 1) {
            isPeerClosed_ = SSL_get_error(ssl_.get(), result) == SSL_ERROR_ZERO_RETURN;
            const Status status = isPeerClosed_ ? Status::ok() : failed(result);
            if (!status.isOk() && total == 0) {
                return status;  // otherwise the next call returns it
            }
            break;
        }
    }
    return total;
}

void TlsChannelImpl::close() {
    if (failure_.isOk() && isHandshakeDone_) {
        ERR_clear_error();
        SSL_shutdown(ssl_.get());
        ERR_clear_error();
    }
}

std::string TlsChannelImpl::peerSubject() const {
    const Owned<X509> peer(SSL_get1_peer_certificate(ssl_.get()));
    // A certificate that was accepted without verification proves nothing about its sender.
    if (peer == nullptr || !isHandshakeDone_ || SSL_get_verify_result(ssl_.get()) != X509_V_OK) {
        return "";
    }
    const Owned<BIO> text(BIO_new(BIO_s_mem()));
    if (text == nullptr ||
        X509_NAME_print_ex(text.get(), X509_get_subject_name(peer.get()), 0, XN_FLAG_RFC2253) < 0) {
        return "";
    }
    char* data = nullptr;
    const auto size = BIO_get_mem_data(text.get(), &data);
    return {data, static_cast<size_t>(size)};
}

}  // namespace

StatusOr<std::unique_ptr<TlsChannel>> TlsChannel::open(std::shared_ptr<const TlsContext> context,
                                                       const std::string& peerName) {
    const auto& ours = static_cast<const TlsContextImpl&>(*context);
    ERR_clear_error();
    Owned<SSL> ssl(SSL_new(ours.get()));
    if (ssl == nullptr) {
        return Status(Code::kIo, "cannot set up TLS: " + takeLibraryError());
    }
    auto channel = std::make_unique<TlsChannelImpl>(std::move(context), std::move(ssl));
    FRESHET_RETURN_IF_ERROR(channel->start(ours, peerName));
    return std::unique_ptr<TlsChannel>(std::move(channel));
}

}  // namespace freshet::security
