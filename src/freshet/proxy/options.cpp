// SPDX-License-Identifier: Apache-2.0
#include "freshet/proxy/options.h"

#include "freshet/client/client.h"

namespace freshet::proxy {
namespace {

/// "HOST[:PORT]" and no other parts of a connection string.
Status parseAddress(const std::string& text, std::string* host, uint16_t* port) {
    auto parsed = client::ConnectionString::parse("mongodb://" + text);
    if (!parsed.isOk() || text.find_first_of("/?@%") != std::string::npos) {
        return badValue("'" + text + "' is not HOST:PORT");
    }
    *host = parsed->host;
    *port = parsed->port;
    return Status::ok();
}

bool isLoopback(const std::string& host) {
    return host == "localhost" || host == "::1" || host.starts_with("127.");
}

/// A program that can reach the proxy can reach the server, without encryption: so only this
/// machine may.
Status parseListen(const std::string& text, ProxyOptions* out) {
    if (text.starts_with('/')) {
        out->listenHost = text;
        return Status::ok();
    }
    FRESHET_RETURN_IF_ERROR(parseAddress(text, &out->listenHost, &out->listenPort));
    return isLoopback(out->listenHost)
               ? Status::ok()
               : badValue("--listen " + text +
                          ": the proxy listens on a loopback address or a Unix socket only; run it "
                          "beside the driver");
}

Status setOption(const std::string& name, const std::string& value, ProxyOptions* out) {
    if (name == "--listen") {
        return parseListen(value, out);
    }
    if (name == "--server") {
        return parseAddress(value, &out->serverHost, &out->serverPort);
    }
    return badValue("There is no option '" + name + "'; see --help");
}

}  // namespace

StatusOr<CommandLine> parseCommandLine(const std::vector<std::string>& arguments) {
    CommandLine out;
    for (size_t i = 0; i < arguments.size(); ++i) {
        const size_t equals = arguments[i].find('=');
        const std::string name = arguments[i].substr(0, equals);
        if (arguments[i] == "--help" || arguments[i] == "-h") {
            out.wantsHelp = true;
            return out;
        }
        if (arguments[i] == "--require-rdma") {
            out.proxy.requireRdma = true;
        } else if (equals != std::string::npos) {
            FRESHET_RETURN_IF_ERROR(setOption(name, arguments[i].substr(equals + 1), &out.proxy));
        } else if (i + 1 < arguments.size()) {
            FRESHET_RETURN_IF_ERROR(setOption(name, arguments[++i], &out.proxy));
        } else {
            return badValue("'" + name + "' is not an option, or its value is missing; see --help");
        }
    }
    if (out.proxy.serverHost.empty()) {
        return badValue("--server HOST:PORT is missing; see --help");
    }
    return out;
}

std::string_view usage() {
    return R"(usage: freshet-rdma-proxy --server HOST[:PORT] [options]
Lets any MongoDB driver reach a Freshet server over RDMA (InfiniBand or RoCE): it listens on
this machine, and carries every connection's messages, unchanged, over RDMA to the server.
Where RDMA is not to be had it carries them over TCP, and the log says why.

  --server HOST[:PORT]  the server, by an address that belongs to its RDMA adapter, started
                        with --rdma; port 27017 unless given
  --listen ADDRESS      where drivers connect: HOST:PORT with a loopback address, or the path
                        of a Unix socket (default 127.0.0.1:27018)
  --require-rdma        refuse connections that would have to stay on TCP
  --help                this text

The driver then connects to the proxy in place of the server, without TLS:
  mongodb://127.0.0.1:27018/?directConnection=true
Logins and compression are the server's and the driver's business, as always. More: docs/rdma.md.
)";
}

}  // namespace freshet::proxy
