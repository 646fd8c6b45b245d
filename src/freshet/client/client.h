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

/// The login by the certificate that TLS has shown; the user is its subject.
inline constexpr const char* kX509 = "MONGODB-X509";

/// mongodb://user:password@host:port,host:port/db?appName=x&... or
/// mongodb+srv://user:password@domain/db?... Options that would make a connection other than was
/// asked for are refused, those that only tune are ignored.
struct ConnectionString {
    struct Place {
        std::string host =
            "127.0.0.1";  // or the path of a Unix socket, as %2Ftmp%2F... in a string
        uint16_t port = 27017;
    };
    std::string host = Place().host;
    uint16_t port = Place().port;
    /// Further members of the same set. open() takes the first that may be written to, or else the
    /// first that answers.
    std::vector<Place> others;
    /// Of mongodb+srv://: whom DNS is asked for the places, which the above are not then.
    struct Service {
        std::string domain;  // empty: this is no such string
        std::string name = "mongodb";
        uint32_t placesMax = 0;  // 0: all that DNS has
        std::string database;    // authSource, if neither the string nor DNS has that
    };
    Service service;
    std::string replicaSet;         // empty: any. A server that belongs to none may have any name
    bool directConnection = false;  // excludes several places
    std::optional<bool> loadBalanced;  // the place is a load balancer, and knows that it is one
    std::string database = "test";
    std::string appName;
    uint32_t connectTimeoutMs = 10'000;
    /// For whoever runs commands, as ofCommands: a write is numbered, where the server knows what
    /// that means, and sent once more when the connection breaks.
    bool retryWrites = true;
    /// As retryWrites: what commands carry of the Stable API. No string has it, only options.
    std::string apiVersion;  // empty: nothing
    bool apiStrict = false;
    bool apiDeprecationErrors = false;

    std::string username;  // empty: no login but by kX509
    std::string password;
    std::string authSource;     // empty: "admin"
    std::string authMechanism;  // empty: the best that the server has for the user
    std::vector<std::string> compressors;

    bool tls = false;
    std::string tlsCaFile;
    std::string tlsCrlFile;
    std::string tlsDisabledProtocols;  // "TLS1_2,TLS1_3"
    std::string tlsCertificateKeyFile;
    std::string tlsCertificateKeyFilePassword;
    bool tlsAllowInvalidCertificates = false;
    bool tlsAllowInvalidHostnames = false;

    /// Moves to RDMA when the server can, too; stays on TCP otherwise. Excludes TLS and Unix
    /// sockets.
    bool rdma = false;
    /// Beside that, rdma=cm: comes by RDMA alone, by a call of its connection manager to the
    /// server's port for such, which `port` then is. There is no TCP to stay on.
    bool rdmaByCall = false;

    /// What is for whoever runs commands: readPreference, readConcernLevel, w and their like, by
    /// their names in small letters.
    std::map<std::string, std::string> ofCommands;

    /// "mongodb://...", "mongodb+srv://...", "host", "host:port", "host:port/db" or "db". Asks
    /// nobody. kInvalid (kFailedToParse).
    static StatusOr<ConnectionString> parse(std::string_view text);
    /// kInvalid (kFailedToParse) when parts exclude each other. parse() and open() ask.
    Status check() const;
    /// Of mongodb+srv://: asks DNS, and gives the same string with places in it; any other: itself.
    /// Blocks for connectTimeoutMs at most (10 s if that is 0). Who opens several connections does
    /// this once, lest they lead to different places. kUnavailable, kTimeout, kInvalid, kCancelled.
    StatusOr<ConnectionString> lookedUp(const Surroundings& around) const;
    StatusOr<ConnectionString> lookedUp() const;
    /// For people: without the password.
    std::string whereText() const;
    /// The same for each of its places: a string with that one only.
    std::vector<ConnectionString> each() const;
};

/// What a connection finds around it, beyond what its string can say.
struct Surroundings {
    /// Whose adapters RDMA goes over; null: this machine's.
    std::shared_ptr<transport::verbs::Verbs> verbs;
    /// Is told what the user should know, such as that the connection stays on TCP; none: the log
    /// is.
    std::function<void(const std::string&)> notice;
    /// Who is asked about mongodb+srv://: "address[:port],..."; empty: the variable
    /// FRESHET_DNS_SERVERS, or else the system's servers (/etc/resolv.conf).
    std::string dnsServers{};
    /// See transport::RdmaOptions::oneSlot. For measuring.
    bool rdmaOneSlot = false;
};

/// One connection. Own thread only; blocks.
class Connection {
public:
    /// Looks up, connects, makes TLS, says hello and logs in, as far as asked for. Also kInvalid
    /// with the server's text when it does not let us in.
    static StatusOr<std::unique_ptr<Connection>> open(const ConnectionString& where,
                                                      const Surroundings& around = {});
    virtual ~Connection() = default;
    /// Sends the command (adds $db) and waits for the reply. Only transport failures are errors: a
    /// reply with ok: 0 is a reply.
    virtual StatusOr<bson::OwnedDocument> run(std::string_view database,
                                              bson::Document command) = 0;
    /// The same, but {ok: 0} becomes kInvalid with the server's text.
    StatusOr<bson::OwnedDocument> runChecked(std::string_view database, bson::Document command);
    /// The server's hello reply.
    virtual bson::Document hello() const = 0;
    /// "tcp", "unix" or "rdma".
    virtual std::string_view transportKind() const = 0;
};

/// Calls `each` for every document of a find or aggregate, fetching batches as needed. `each`
/// returns false to stop (the cursor is then killed).
Status forEach(Connection& connection,
               std::string_view database,
               bson::Document command,
               const std::function<bool(bson::Document)>& each);

}  // namespace freshet::client
