// SPDX-License-Identifier: Apache-2.0
/// libFuzzer target: any bytes as a mongodb+srv:// string, as a DNS reply about its servers and as
/// one about its options. Whatever they are, the connection does not leave the domain.
#include "freshet/client/srv/seeds.h"
#include "freshet/client/srv/text.h"

namespace {

using namespace freshet;
using namespace freshet::client;

void lookUp(const std::string& uri, const DnsRecords& found, std::string_view domain) {
    const auto where = ConnectionString::parse(uri);
    if (!where.isOk() || where->service.domain.empty()) {
        return;
    }
    const auto seeds = withSeeds(*where, found, uri.size());
    if (!seeds.isOk()) {
        return;
    }
    invariant(seeds->check().isOk() && seeds->service.domain.empty());
    for (const ConnectionString& one : seeds->each()) {
        invariant(isHostName(one.host) && one.port != 0);
        invariant(lowered(one.host).ends_with(domain));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    ByteView bytes(reinterpret_cast<const char*>(data), size);
    const auto take = [&bytes] {
        const size_t wanted = bytes.empty() ? 0 : static_cast<uint8_t>(bytes.front());
        const ByteView part = bytes.substr(std::min<size_t>(1, bytes.size()), wanted);
        bytes.remove_prefix(std::min(bytes.size(), wanted + 1));
        return part;
    };
    const std::string own = "mongodb+srv://" + std::string(take());
    const auto services = readServices(take());
    const auto texts = readTexts(take());
    const std::string text(take());
    const DnsRecords found{
        services.isOk() ? *services : std::vector<ConnectionString::HostAndPort>(),
        texts.isOk() ? *texts : std::vector<std::string>()};
    const DnsRecords readable{{{"server.example.org", 27017}}, {text}};
    lookUp(own, found, "");
    lookUp(own, readable, "");
    lookUp("mongodb+srv://db.example.org/shop?tls=false", found, ".example.org");
    lookUp("mongodb+srv://db.example.org/shop?tls=false", readable, ".example.org");
    return 0;
}
