// SPDX-License-Identifier: Apache-2.0
/// A self-signed certificate made by the `openssl` program, for tests of TLS sessions. Made once
/// for a test program.
#pragma once

#include "freshet/security/tls.h"

#include <unistd.h>

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
        char folder[] = "/tmp/freshet-tls-XXXXXX";
        invariant(::mkdtemp(folder) != nullptr);
        folder_ = folder;
        path_ = folder_ + "/server.pem";
        const std::string command =
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
            "-subj /O=Freshet/CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 "
            "-keyout " +
            folder_ + "/key.pem -out " + folder_ + "/cert.pem 2>/dev/null && cat " + folder_ +
            "/key.pem " + folder_ + "/cert.pem > " + path_;
        invariant(std::system(command.c_str()) == 0);
        security::TlsOptions options;
        options.certificateKeyFile = path_;
        server_ =
            std::move(security::TlsContext::make(security::TlsSide::kServer, options)).value();
        security::TlsOptions trusting;
        trusting.caFile = folder_ + "/cert.pem";
        client_ =
            std::move(security::TlsContext::make(security::TlsSide::kClient, trusting)).value();
    }
    ~CertificateForTest() {
        for (const char* name : {"/key.pem", "/cert.pem", "/server.pem"}) {
            ::unlink((folder_ + name).c_str());
        }
        ::rmdir(folder_.c_str());
    }

    std::string folder_;
    std::string path_;
    std::shared_ptr<const security::TlsContext> server_;
    std::shared_ptr<const security::TlsContext> client_;
};

}  // namespace freshet::transport
