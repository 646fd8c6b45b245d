// SPDX-License-Identifier: Apache-2.0
/// TLS as a machine without a socket: cipher bytes from the peer go in and cipher bytes for the
/// peer come out, and plain bytes in both directions. Transport moves the bytes and never sees the
/// library. TLS 1.2 and 1.3 only.
#pragma once

#include "freshet/base/bytes.h"
#include "freshet/base/status.h"

#include <memory>
#include <string>
#include <vector>

namespace freshet::security {

struct TlsOptions {
    std::string certificateKeyFile;  // PEM: certificate chain and private key
    std::string certificateKeyPassword;
    std::string caFile;   // PEM; empty: the peer's certificate is not asked for (server) or the
                          // system's authorities count (client)
    std::string crlFile;  // PEM
    std::vector<std::string> disabledProtocols;  // "TLS1_2", "TLS1_3"
    bool allowConnectionsWithoutCertificates =
        false;  // server with a caFile: a client may have none
    bool allowInvalidCertificates = false;
    bool allowInvalidHostnames = false;  // client
};

enum class TlsSide : uint8_t { kServer, kClient };

/// Keys and settings, shared by all channels made from it. Immutable; any thread.
class TlsContext {
public:
    /// Reads and checks the files. kInvalid names the file and its fault.
    static StatusOr<std::shared_ptr<const TlsContext>> make(TlsSide side,
                                                            const TlsOptions& options);
    virtual ~TlsContext() = default;
};

/// One connection's TLS state. One thread at a time. After an error only drainCipher() (the alert
/// for the peer) may be called. Memory: at most one record each way, plus what the caller leaves
/// undrained.
class TlsChannel {
public:
    /// `peerName`: the host name that a client connects to (SNI and certificate check); else empty.
    static StatusOr<std::unique_ptr<TlsChannel>> open(std::shared_ptr<const TlsContext> context,
                                                      const std::string& peerName);
    virtual ~TlsChannel() = default;

    /// Takes bytes from the peer and continues the handshake. kInvalid (kProtocolError) when they
    /// are not TLS, or the certificate is refused: the text says which.
    virtual Status feedCipher(ByteView bytes) = 0;
    /// Bytes that must be sent to the peer now; empty when there are none.
    virtual std::string drainCipher() = 0;
    virtual bool isHandshakeDone() const = 0;
    /// REQUIRES: isHandshakeDone(). Encrypts; drainCipher() then has the result.
    virtual Status writePlain(ByteView bytes) = 0;
    /// Appends up to `bytes` decrypted bytes to `out`; returns how many. 0: feed more.
    virtual StatusOr<size_t> readPlain(std::string* out, size_t bytes) = 0;
    /// The peer has closed its side properly.
    virtual bool isPeerClosed() const = 0;
    /// Queues our closing alert for drainCipher().
    virtual void close() = 0;
    /// RFC 2253 name of the peer's certificate; empty without one.
    virtual std::string peerSubject() const = 0;
    virtual std::string serverNameIndication() const = 0;
};

}  // namespace freshet::security
