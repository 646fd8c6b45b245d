// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/wire/subject.h"

#include "freshet/platform/thread.h"
#include "freshet/transport/connector.h"

#include <filesystem>
#include <utility>

namespace freshet::bench {

StatusOr<std::unique_ptr<Subject>> Subject::make(const WireOptions& options) {
    auto out = std::make_unique<Subject>();
    FRESHET_ASSIGN_OR_RETURN(out->folder_, TemporaryFolder::make(options.dataDir));
    if (options.uri.empty()) {
        FRESHET_RETURN_IF_ERROR(out->startServer());
    } else {
        FRESHET_ASSIGN_OR_RETURN(out->where_, client::ConnectionString::parse(options.uri));
        FRESHET_ASSIGN_OR_RETURN(out->where_, out->where_.lookedUp());
        if (out->where_.tls || !out->where_.username.empty() || out->where_.host.starts_with('/')) {
            return Status(Code::kUnsupported,
                          "The load generator's connections are TCP, without TLS and login");
        }
        out->pid_ = options.pid;
    }
    if (std::exchange(out->where_.rdma, false) || options.rdma) {
        FRESHET_ASSIGN_OR_RETURN(out->verbs_, transport::verbs::systemVerbs());
        out->isOneSlot_ = options.oneSlot;
    }
    const bool isOwn = options.uri.empty();
    Status connected = out->connect(isOwn);
    if (!connected.isOk()) {
        return connected.withContext(isOwn ? "The server did not come up" : options.uri);
    }
    return out;
}

Status Subject::startServer() {
    FRESHET_ASSIGN_OR_RETURN(where_.port, freePort());
    where_.host = "127.0.0.1";
    const std::string data = folder_->path() + "/db";
    std::error_code error;
    std::filesystem::create_directories(data, error);
    FRESHET_ASSIGN_OR_RETURN(server_,
                             ChildProcess::start({programFolder() + "/freshetd",
                                                  "--dbpath",
                                                  data,
                                                  "--port",
                                                  std::to_string(where_.port)},
                                                 folder_->path() + "/server.log"));
    pid_ = server_.pid();
    return Status::ok();
}

/// Retries for a moment if the server is our own, until it listens.
Status Subject::connect(bool isOwn) {
    constexpr int kTries = 600;
    Status last;
    for (int i = 0; i < kTries; ++i) {
        auto opened = client::Connection::open(where_);
        if (opened.isOk()) {
            connection_ = std::move(opened).value();
            return Status::ok();
        }
        last = std::move(opened).status();
        if (!isOwn || !server_.isRunning()) {
            break;
        }
        platform::sleepMillis(50);
    }
    return last;
}

StatusOr<std::unique_ptr<transport::Session>> Subject::rdmaSession() const {
    std::string why;
    transport::ConnectOptions options;
    options.host = where_.host;
    options.port = where_.port;
    options.rdma.verbs = verbs_;
    options.rdma.oneSlot = isOneSlot_;
    options.onFallback = [&why](const std::string& text) { why = text; };
    FRESHET_ASSIGN_OR_RETURN(auto session, transport::connect(options));
    if (!why.empty()) {
        return Status(Code::kUnsupported, why);
    }
    return session;
}

StatusOr<std::unique_ptr<client::Connection>> Subject::measuredConnection() const {
    client::ConnectionString where = where_;
    where.rdma = isRdma();
    std::string why = "The connection stays on TCP";
    client::Surroundings around;
    around.verbs = verbs_;
    around.rdmaOneSlot = isOneSlot_;
    around.notice = [&why](const std::string& text) { why = text; };
    FRESHET_ASSIGN_OR_RETURN(auto connection, client::Connection::open(where, around));
    if (connection->transportKind() != (isRdma() ? "rdma" : "tcp")) {
        return Status(Code::kUnsupported, why);
    }
    return connection;
}

}  // namespace freshet::bench
