// SPDX-License-Identifier: Apache-2.0
/// A self-signed certificate made by the `openssl` program, for tests of TLS sessions. Made once
/// for a test program.
#pragma once

#include "freshet/platform/folder_for_test.h"
#include "freshet/security/tls.h"

#include <cstdlib>
#include <string>

namespace freshet::transport {

class CertificateForTest {
public:
    static const CertificateForTest& get() {
        static CertificateForTest only;
        return only;
    }
    /// Key and certificate for "localhost" and 127.0.0.1, in one PEM file.
    const std::string& path() const { return path_; }
    std::shared_ptr<const security::TlsContext> server() const { return server_; }
    /// Trusts that certificate.
    std::shared_ptr<const security::TlsContext> client() const { return client_; }

private:
    CertificateForTest() {
        const std::string key = folder_.path("key.pem");
        const std::string certificate = folder_.path("cert.pem");
        const std::string command =
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
            "-subj /O=Freshet/CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 "
            "-keyout " +
            key + " -out " + certificate + " 2>/dev/null && cat " + key + " " + certificate +
            " > " + path_;
        invariant(std::system(command.c_str()) == 0);
        security::TlsOptions options;
        options.certificateKeyFile = path_;
        server_ =
            std::move(security::TlsContext::make(security::TlsSide::kServer, options)).value();
        security::TlsOptions trusting;
        trusting.caFile = certificate;
        client_ =
            std::move(security::TlsContext::make(security::TlsSide::kClient, trusting)).value();
    }

    const platform::FolderForTest folder_;
    const std::string path_ = folder_.path("server.pem");
    std::shared_ptr<const security::TlsContext> server_;
    std::shared_ptr<const security::TlsContext> client_;
};

}  // namespace freshet::transport
