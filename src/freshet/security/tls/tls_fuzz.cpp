// SPDX-License-Identifier: Apache-2.0
/// libFuzzer target: any bytes as what a peer sends, to a fresh server and to a server after a
/// successful handshake. No plain byte may come out of either.
#include "freshet/security/tls.h"

#include "freshet/security/certificates_for_test.h"

#include <cstdio>
#include <cstdlib>

namespace freshet::security {
namespace {

std::shared_ptr<const TlsContext> makeServer() {
    char path[] = "/tmp/freshet-tls-fuzz-XXXXXX";
    const int made = mkstemp(path);
    std::FILE* file = fdopen(made, "w");
    std::fputs(AuthorityForTest("fuzz").issue({}).c_str(), file);
    std::fclose(file);
    TlsOptions options;
    options.certificateKeyFile = path;
    auto context = TlsContext::make(TlsSide::kServer, options);
    std::remove(path);
    return *context;
}

void fuzz(ByteView bytes) {
    static const std::shared_ptr<const TlsContext> kServer = makeServer();
    static const std::shared_ptr<const TlsContext> kClient =
        *TlsContext::make(TlsSide::kClient, TlsOptions{.allowInvalidCertificates = true});
    std::string plain;
    std::unique_ptr<TlsChannel> fresh = std::move(*TlsChannel::open(kServer, ""));
    std::ignore = fresh->feedCipher(bytes);
    std::ignore = fresh->readPlain(&plain, 100);

    std::unique_ptr<TlsChannel> server = std::move(*TlsChannel::open(kServer, ""));
    std::unique_ptr<TlsChannel> client = std::move(*TlsChannel::open(kClient, ""));
    while (!server->isHandshakeDone() || !client->isHandshakeDone()) {
        invariant(server->feedCipher(client->drainCipher()).isOk());
        invariant(client->feedCipher(server->drainCipher()).isOk());
    }
    std::ignore = server->feedCipher(bytes);
    std::ignore = server->readPlain(&plain, 100);
    invariant(plain.empty());
    server->close();
}

}  // namespace
}  // namespace freshet::security

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    freshet::security::fuzz({reinterpret_cast<const char*>(data), size});
    return 0;
}
