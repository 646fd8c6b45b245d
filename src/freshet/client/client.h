// SPDX-License-Identifier: Apache-2.0
/// libfreshet_client: a small blocking driver for the shell, the benchmark and C++ applications.
#pragma once

#include "freshet/base/status.h"
#include "freshet/bson/builder.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace freshet::transport::verbs {
class Verbs;
}

namespace freshet::client {

/// mongodb://user:password@host:port,host:port/db?appName=x&... Options that would make a
/// connection other than was asked for are refused, those that only tune are ignored.
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
    std::string replicaSet;  // empty: any. A server that belongs to none may have any name
    std::string database = "test";
    std::string appName;
    uint32_t connectTimeoutMs = 10'000;

    std::string username;  // empty: no login
    std::string password;
    std::string authSource;     // empty: "admin"
    std::string authMechanism;  // empty: the best that the server has for the user
    std::vector<std::string> compressors;

    bool tls = false;
    std::string tlsCaFile;
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

    /// "mongodb://...", "host", "host:port", "host:port/db" or "db". kInvalid (kFailedToParse).
    static StatusOr<ConnectionString> parse(std::string_view text);
    /// kInvalid (kFailedToParse) when parts exclude each other. parse() and open() ask.
    Status check() const;
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
};

/// One connection. Own thread only; blocks.
class Connection {
public:
    /// Connects, makes TLS, says hello and logs in, as far as asked for. Also kInvalid with the
    /// server's text when it does not let us in.
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
