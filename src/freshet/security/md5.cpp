// SPDX-License-Identifier: Apache-2.0
#include "freshet/security/md5.h"

#include "freshet/base/assert.h"

#include <openssl/evp.h>

namespace freshet::security {

struct Md5::Impl {
    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(),
                                                                    EVP_MD_CTX_free};
};

Md5::Md5() : impl_(std::make_unique<Impl>()) {
    invariant(EVP_DigestInit_ex(impl_->context.get(), EVP_md5(), nullptr) == 1);
}

Md5::~Md5() = default;

void Md5::add(ByteView bytes) {
    invariant(EVP_DigestUpdate(impl_->context.get(), bytes.data(), bytes.size()) == 1);
}

std::string Md5::finish() {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    invariant(EVP_DigestFinal_ex(impl_->context.get(), digest, &size) == 1);
    return toHex({reinterpret_cast<const char*>(digest), size});
}

}  // namespace freshet::security
