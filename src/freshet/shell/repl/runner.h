// SPDX-License-Identifier: Apache-2.0
/// Runs one command of the user and prints what comes of it. The connection is made when it is
/// first needed, and made anew by the next command after it was lost.
#pragma once

#include "freshet/client/client.h"

#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>

namespace freshet::shell {

enum class Outcome : uint8_t { kDone, kFailed, kLeave };

class Runner {
public:
    /// Replies go to `out`, all other texts to `err`. Both must outlive this.
    Runner(const client::ConnectionString& where, std::ostream& out, std::ostream& err);

    /// "use shop", "show dbs", "help", "exit", or an Extended JSON command. kFailed: it was wrong,
    /// the server said ok: 0, or the connection failed; `err` has been told why.
    Outcome run(std::string_view command);
    /// An Extended JSON command only.
    Outcome runJson(std::string_view json);
    /// Connects now. False after telling `err` why not.
    bool connect();
    /// The server's version as its buildInfo tells it; empty when it does not.
    std::string serverVersion();

    const std::string& database() const { return database_; }

private:
    Outcome use(std::string_view database);
    Outcome show(std::string_view what);
    Outcome showDatabases();
    Outcome showCollections();
    Outcome help();
    /// Tells `err`, and drops the connection if it was that which failed.
    Outcome failed(const Status& status);

    client::ConnectionString where_;
    std::ostream& out_;
    std::ostream& err_;
    std::string database_;
    std::unique_ptr<client::Connection> connection_;
};

}  // namespace freshet::shell
