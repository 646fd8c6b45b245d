// SPDX-License-Identifier: Apache-2.0
/// libfreshet_client: a small blocking driver for the shell, the benchmark and C++ applications.
#pragma once

#include "freshet/base/status.h"
#include "freshet/bson/builder.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace freshet::transport::verbs {
class Verbs;
}

namespace freshet::client {

struct Surroundings;

/// Login with the client's TLS certificate; the user is its subject.
inline constexpr const char* kX509 = "MONGODB-X509";

/// mongodb://user:password@host:port,host:port/db?appName=x&... or
/// mongodb+srv://user:password@domain/db?... Options that would lead to another kind of connection
/// than asked for are refused; options that only tune it are ignored.
struct ConnectionString {
    struct HostAndPort {
        std::string host =
            "127.0.0.1";  // or the path of a Unix socket, written %2Ftmp%2F... in a string
        uint16_t port = 27017;
    };
    std::string host = HostAndPort().host;
    uint16_t port = HostAndPort().port;
    /// Further members of the same set. open() takes the first that accepts writes, or else the
    /// first that answers.
    std::vector<HostAndPort> others;
    /// Of mongodb+srv://: the name for which DNS has the hosts. The hosts above are not used then.
    struct Service {
        std::string domain;  // empty: the string is not of this kind
        std::string name = "mongodb";
        uint32_t hostsMax = 0;  // 0: all hosts in DNS
        std::string database;   // authSource, if neither the string nor DNS sets it
    };
    Service service;
    std::string replicaSet;  // empty: any. A server that is in no set is accepted under any name
    bool directConnection = false;     // excludes several hosts
    std::optional<bool> loadBalanced;  // the host is a load balancer, and knows that it is one
    std::string database = "test";
    std::string appName;
    uint32_t connectTimeoutMs = 10'000;
    /// For code that runs commands, like ofCommands: number writes, if the server supports that,
    /// and send a write once more when the connection breaks.
    bool retryWrites = true;
    /// Like retryWrites: the fields of the Stable API to add to commands. Set by options only, not
    /// in a string.
    std::string apiVersion;  // empty: none
    bool apiStrict = false;
    bool apiDeprecationErrors = false;

    std::string username;  // empty: no login, except by kX509
    std::string password;
    std::string authSource;     // empty: "admin"
    std::string authMechanism;  // empty: the best that the server supports for the user
    std::vector<std::string> compressors;

    bool tls = false;
    std::string tlsCaFile;
    std::string tlsCrlFile;
    std::string tlsDisabledProtocols;  // "TLS1_2,TLS1_3"
    std::string tlsCertificateKeyFile;
    std::string tlsCertificateKeyFilePassword;
    bool tlsAllowInvalidCertificates = false;
    bool tlsAllowInvalidHostnames = false;

    /// Moves to RDMA if the server supports it, else stays on TCP. Excludes TLS and Unix sockets.
    bool rdma = false;
    /// In addition, rdma=cm: connects over RDMA only, by a call of its connection manager to the
    /// server's port for calls, which `port` then is. There is no TCP to stay on.
    bool rdmaByCall = false;

    /// Options for code that runs commands: readPreference, readConcernLevel, w and so on, by their
    /// names in lower case.
    std::map<std::string, std::string> ofCommands;

    /// Parses "mongodb://...", "mongodb+srv://...", "host", "host:port", "host:port/db" or "db".
    /// Uses no network. kInvalid (kFailedToParse).
    static StatusOr<ConnectionString> parse(std::string_view text);
    /// kInvalid (kFailedToParse) when parts exclude each other. parse() and open() call it.
    Status check() const;
    /// For mongodb+srv://: asks DNS and returns the same string with the hosts; for any other,
    /// itself. Blocks for at most connectTimeoutMs (10 s if that is 0). A program that opens
    /// several connections calls this once, so that they lead to the same hosts. kUnavailable,
    /// kTimeout, kInvalid, kCancelled.
    StatusOr<ConnectionString> lookedUp(const Surroundings& around) const;
    StatusOr<ConnectionString> lookedUp() const;
    /// For people: without the password.
    std::string whereText() const;
    /// One string for each of its hosts.
    std::vector<ConnectionString> each() const;
};

/// What a connection depends on besides its string.
struct Surroundings {
    /// The adapters for RDMA; null: this machine's.
    std::shared_ptr<transport::verbs::Verbs> verbs;
    /// Called with what the user should know, such as that the connection stays on TCP; none: it is
    /// logged.
    std::function<void(const std::string&)> notice;
    /// The DNS servers for mongodb+srv://: "address[:port],..."; empty: the environment variable
    /// FRESHET_DNS_SERVERS, or else the system's servers (/etc/resolv.conf).
    std::string dnsServers{};
    /// See transport::RdmaOptions::oneSlot. For measuring.
    bool rdmaOneSlot = false;
};

/// One connection. Own thread only; blocks.
class Connection {
public:
    /// Looks up, connects, makes the TLS handshake, says hello and logs in, as asked for. Also
    /// kInvalid with the server's text when the server refuses us.
    static StatusOr<std::unique_ptr<Connection>> open(const ConnectionString& where,
                                                      const Surroundings& around = {});
    virtual ~Connection() = default;
    /// Sends the command (adds $db) and waits for the reply. Only transport failures are errors: a
    /// reply with ok: 0 is a reply.
    virtual StatusOr<bson::OwnedDocument> run(std::string_view database,
                                              bson::Document command) = 0;
    /// The same, except that {ok: 0} becomes kInvalid with the server's text.
    StatusOr<bson::OwnedDocument> runChecked(std::string_view database, bson::Document command);
    /// The server's hello reply.
    virtual bson::Document hello() const = 0;
    /// "tcp", "unix" or "rdma".
    virtual std::string_view transportKind() const = 0;
};

/// Calls `each` for every document of a find or aggregate, fetching batches as needed. If `each`
/// returns false, it stops and kills the cursor.
Status forEach(Connection& connection,
               std::string_view database,
               bson::Document command,
               const std::function<bool(bson::Document)>& each);

}  // namespace freshet::client
