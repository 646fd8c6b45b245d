// SPDX-License-Identifier: Apache-2.0
/// A connection of the shell: opened on demand, reopened by the next command after it was lost, and
/// closed by Ctrl-C in such a way that the server ends the work too.
#pragma once

#include "freshet/client/client.h"

#include <memory>
#include <string>

namespace freshet::shell {

class Link {
public:
    /// `hasSession`: commands carry a session id, by which Ctrl-C ends them on the server.
    /// Retryable writes carry one in any case.
    Link(client::ConnectionString where, bool hasSession);
    ~Link();
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    /// Connects unless it is connected. The status names the server on failure.
    Status open();
    /// Sends the command and waits. Errors are those of the connection, which is then lost, except
    /// kInvalid and kLimit, which are about the command. kCancelled after Ctrl-C.
    StatusOr<bson::OwnedDocument> run(std::string_view database, bson::Document command);
    /// Closes; the next open logs in as that user.
    Status logIn(const client::ConnectionString& where);
    /// Ends the session, and with it its cursors on the server.
    void close();

    const client::ConnectionString& where() const { return where_; }
    bool wasOpened() const { return wasOpened_; }
    bool isOpen() const { return connection_ != nullptr; }
    /// REQUIRES: isOpen().
    bson::Document hello() const { return connection_->hello(); }

private:
    bool canCarrySession(bson::Document command) const;
    /// The command with its additional fields: the session, the number of a retryable write, the
    /// API version.
    std::string stamped(bson::Document command, bool isRetryable, bool carriesSession);
    /// Sends the command; once more if it is retryable and the connection breaks.
    StatusOr<bson::OwnedDocument> exchange(std::string_view database,
                                           bson::Document command,
                                           bool isRetryable);
    /// Ends on the server what Ctrl-C left running there.
    void killLeftWork();

    client::ConnectionString where_;
    std::unique_ptr<client::Connection> connection_;
    const bool hasSession_;
    bool wasOpened_ = false;
    bool sessionUsed_ = false;
    std::string sessionId_;  // 16 bytes
    int64_t txnNumber_ = 0;  // of the session's newest retryable write
};

}  // namespace freshet::shell
