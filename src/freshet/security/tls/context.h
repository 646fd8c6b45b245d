// SPDX-License-Identifier: Apache-2.0
/// What a channel needs from its context, and smart pointers for the library's objects.
#pragma once

#include "freshet/security/tls.h"

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace freshet::security {

struct Freer {
    void operator()(SSL_CTX* p) const { SSL_CTX_free(p); }
    void operator()(SSL* p) const { SSL_free(p); }
    void operator()(BIO* p) const { BIO_free(p); }
    void operator()(BIO_METHOD* p) const { BIO_meth_free(p); }
    void operator()(X509* p) const { X509_free(p); }
    void operator()(X509_CRL* p) const { X509_CRL_free(p); }
    void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
};
template <typename T>
using Owned = std::unique_ptr<T, Freer>;

class TlsContextImpl final : public TlsContext {
public:
    TlsContextImpl(TlsSide side, bool checksHostName, Owned<SSL_CTX> ctx)
        : side_(side), checksHostName_(checksHostName), ctx_(std::move(ctx)) {}

    TlsSide side() const { return side_; }
    bool checksHostName() const { return checksHostName_; }
    /// The library counts references in it, hence no const.
    SSL_CTX* get() const { return ctx_.get(); }

private:
    const TlsSide side_;
    const bool checksHostName_;
    const Owned<SSL_CTX> ctx_;
};

/// The text of the library's newest error; empties its queue. "unknown error" when there is none.
std::string takeLibraryError();

}  // namespace freshet::security
