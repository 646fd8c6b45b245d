// SPDX-License-Identifier: Apache-2.0
/// libFuzzer target: any bytes as a login's messages, to the server and to the client. No login
/// succeeds without the password.
#include "freshet/security/scram.h"

#include "freshet/security/scram/messages.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace freshet;
    using namespace freshet::security;
    const ByteView bytes(reinterpret_cast<const char*>(data), size);
    const size_t cut = std::min(bytes.find('\n'), size);
    const ByteView first = bytes.substr(0, cut);
    const ByteView second = cut < size ? bytes.substr(cut + 1) : ByteView();
    const ScramMechanism mechanism =
        size % 2 == 0 ? ScramMechanism::kSha1 : ScramMechanism::kSha256;
    static const ScramCredentials kCredentials[] = {
        *makeCredentials(ScramMechanism::kSha1, "user", secureRandom(20), 4096),
        *makeCredentials(ScramMechanism::kSha256, "user", "not to be guessed 2718281828", 4096)};
    ScramServer server(
        mechanism, [size](const std::string&) { return kCredentials[size % 2]; }, {}, "server");
    if (server.step(first).isOk()) {
        std::ignore = server.step(second);
        invariant(!server.isDone());
    }
    ScramClient client(mechanism, "user", "password", "client");
    // A freely chosen iteration count would only waste time.
    StatusOr<ServerFirst> parsed = parseServerFirst(first);
    if (!parsed.isOk() || parsed->iterations < 5000) {
        if (client.step(first).isOk()) {
            std::ignore = client.step(second);
            invariant(!client.isDone());
        }
    }
    return 0;
}
