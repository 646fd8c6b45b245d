// SPDX-License-Identifier: Apache-2.0
/// The server under test: started by us or already running. Own thread, except for rdmaSession().
#pragma once

#include "freshet/bench/options.h"
#include "freshet/bench/processes.h"
#include "freshet/client/client.h"
#include "freshet/transport/session.h"

#include <memory>
#include <string>

namespace freshet::bench {

class Subject {
public:
    static StatusOr<std::unique_ptr<Subject>> make(const WireOptions& options);

    const client::ConnectionString& where() const { return where_; }
    int64_t pid() const { return pid_; }  // 0: unknown
    /// For everything that is not measured; uses TCP.
    client::Connection& connection() { return *connection_; }
    const std::string& folder() const { return folder_->path(); }
    bool isRdma() const { return verbs_ != nullptr; }
    std::string_view transport() const {
        return !isRdma() ? "tcp" : isOneSlot_ ? "rdma-oneslot" : "rdma";
    }
    /// A session over RDMA, or an error: figures of TCP must not appear as RDMA's. Any thread.
    StatusOr<std::unique_ptr<transport::Session>> rdmaSession() const;
    /// A connection of the kind that is measured, under the same rule.
    StatusOr<std::unique_ptr<client::Connection>> measuredConnection() const;

private:
    Status startServer();
    Status connect(bool isOwn);

    client::ConnectionString where_;
    std::shared_ptr<transport::verbs::Verbs> verbs_;  // null: TCP
    bool isOneSlot_ = false;
    std::unique_ptr<TemporaryFolder> folder_;
    ChildProcess server_;  // declared after folder_, so that it ends first
    std::unique_ptr<client::Connection> connection_;
    int64_t pid_ = 0;
};

}  // namespace freshet::bench
