// SPDX-License-Identifier: Apache-2.0
/// Certificates for tests, created at run time: an authority and certificates that it signs. For
/// tests of any room; the server does not use it. One thread at a time.
#pragma once

#include "freshet/base/assert.h"
#include "freshet/security/tls/context.h"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace freshet::security {

namespace for_test {

inline Owned<EVP_PKEY> makeKey() {
    Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
    invariant(key != nullptr);
    return key;
}

inline std::string contents(BIO* bio) {
    char* data = nullptr;
    const auto size = BIO_get_mem_data(bio, &data);
    return {data, static_cast<size_t>(size)};
}

inline Owned<BIO> memory() {
    return Owned<BIO>(BIO_new(BIO_s_mem()));
}

inline void addExtension(X509* certificate,
                         X509V3_CTX* context,
                         int nid,
                         const std::string& value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, context, nid, value.c_str());
    invariant(extension != nullptr);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
}

inline void setName(X509* certificate, const std::string& commonName) {
    X509_NAME* name = X509_get_subject_name(certificate);
    const auto add = [name](const char* field, const std::string& value) {
        X509_NAME_add_entry_by_txt(name,
                                   field,
                                   MBSTRING_UTF8,
                                   reinterpret_cast<const unsigned char*>(value.data()),
                                   static_cast<int>(value.size()),
                                   -1,
                                   0);
    };
    add("O", "Freshet");
    add("CN", commonName);
}

inline Owned<X509> makeCertificate(const std::string& commonName,
                                   EVP_PKEY* key,
                                   int64_t fromSeconds,
                                   int64_t toSeconds,
                                   long serial) {  // NOLINT: the library's type
    Owned<X509> made(X509_new());
    X509_set_version(made.get(), X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), serial);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), fromSeconds);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), toSeconds);
    X509_set_pubkey(made.get(), key);
    setName(made.get(), commonName);
    return made;
}

}  // namespace for_test

struct CertificateForTest {
    std::string commonName{"server"};
    std::vector<std::string> names{"DNS:localhost", "IP:127.0.0.1"};  // subject alternative names
    int64_t validFromSeconds = -3600;                                 // both counted from now
    int64_t validToSeconds = 24 * 3600;
    std::string password{};  // encrypts the key
};

class AuthorityForTest {
public:
    explicit AuthorityForTest(const std::string& commonName, int64_t validToSeconds = 24 * 3600);
    ~AuthorityForTest();

    /// PEM of the authority's own certificate.
    std::string certificate() const;
    /// PEM of a certificate and its private key, in the form of a certificateKeyFile.
    std::string issue(const CertificateForTest& what);
    /// PEM of a list that revokes the certificates that issue() made as numbers `serials` (1, 2,
    /// ...).
    std::string revoke(const std::vector<int>& serials) const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

struct AuthorityForTest::Impl {
    Owned<EVP_PKEY> key = for_test::makeKey();
    Owned<X509> certificate;
    int issued = 0;
};

inline AuthorityForTest::AuthorityForTest(const std::string& commonName, int64_t validToSeconds)
    : impl_(std::make_unique<Impl>()) {
    EVP_PKEY* key = impl_->key.get();
    impl_->certificate =
        for_test::makeCertificate(commonName, key, -2 * 24 * 3600, validToSeconds, 1);
    X509* own = impl_->certificate.get();
    X509_set_issuer_name(own, X509_get_subject_name(own));
    X509V3_CTX context;
    X509V3_set_ctx(&context, own, own, nullptr, nullptr, 0);
    for_test::addExtension(own, &context, NID_basic_constraints, "critical,CA:TRUE");
    for_test::addExtension(own, &context, NID_key_usage, "critical,keyCertSign,cRLSign");
    for_test::addExtension(own, &context, NID_subject_key_identifier, "hash");
    invariant(X509_sign(own, key, EVP_sha256()) > 0);
}

inline AuthorityForTest::~AuthorityForTest() = default;

inline std::string AuthorityForTest::certificate() const {
    const Owned<BIO> out = for_test::memory();
    PEM_write_bio_X509(out.get(), impl_->certificate.get());
    return for_test::contents(out.get());
}

inline std::string AuthorityForTest::issue(const CertificateForTest& what) {
    const Owned<EVP_PKEY> key = for_test::makeKey();
    const Owned<X509> made = for_test::makeCertificate(
        what.commonName, key.get(), what.validFromSeconds, what.validToSeconds, ++impl_->issued);
    X509_set_issuer_name(made.get(), X509_get_subject_name(impl_->certificate.get()));
    X509V3_CTX context;
    X509V3_set_ctx(&context, impl_->certificate.get(), made.get(), nullptr, nullptr, 0);
    std::string names;
    for (const std::string& name : what.names) {
        names += (names.empty() ? "" : ",") + name;
    }
    if (!names.empty()) {
        for_test::addExtension(made.get(), &context, NID_subject_alt_name, names);
    }
    invariant(X509_sign(made.get(), impl_->key.get(), EVP_sha256()) > 0);
    const Owned<BIO> out = for_test::memory();
    PEM_write_bio_X509(out.get(), made.get());
    const bool isEncrypted = !what.password.empty();
    PEM_write_bio_PrivateKey(out.get(),
                             key.get(),
                             isEncrypted ? EVP_aes_256_cbc() : nullptr,
                             reinterpret_cast<const unsigned char*>(what.password.data()),
                             static_cast<int>(what.password.size()),
                             nullptr,
                             nullptr);
    return for_test::contents(out.get());
}

inline std::string AuthorityForTest::revoke(const std::vector<int>& serials) const {
    const Owned<X509_CRL> list(X509_CRL_new());
    X509_CRL_set_version(list.get(), X509_CRL_VERSION_2);
    X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(impl_->certificate.get()));
    ASN1_TIME* time = X509_gmtime_adj(nullptr, -60);
    X509_CRL_set1_lastUpdate(list.get(), time);
    X509_gmtime_adj(time, 24 * 3600);
    X509_CRL_set1_nextUpdate(list.get(), time);
    X509_gmtime_adj(time, -60);
    for (int serial : serials) {
        X509_REVOKED* revoked = X509_REVOKED_new();
        ASN1_INTEGER* number = ASN1_INTEGER_new();
        ASN1_INTEGER_set(number, serial);
        X509_REVOKED_set_serialNumber(revoked, number);
        ASN1_INTEGER_free(number);
        X509_REVOKED_set_revocationDate(revoked, time);
        X509_CRL_add0_revoked(list.get(), revoked);
    }
    ASN1_TIME_free(time);
    invariant(X509_CRL_sign(list.get(), impl_->key.get(), EVP_sha256()) > 0);
    const Owned<BIO> out = for_test::memory();
    PEM_write_bio_X509_CRL(out.get(), list.get());
    return for_test::contents(out.get());
}

}  // namespace freshet::security
