// SPDX-License-Identifier: Apache-2.0
#include "freshet/proxy/pair/pair.h"

#include "freshet/telemetry/log.h"

#include <mutex>
#include <utility>

namespace freshet::proxy {

using transport::Session;

Pair::Pair(std::unique_ptr<Session> driver, Dial dial, std::function<void()> onOver)
    : onOver_(std::move(onOver)), driver_(std::move(driver)) {
    thread_ = platform::Thread("to-server", [this, dial = std::move(dial)] { run(dial); });
}

Pair::~Pair() {
    end();
    thread_.join();
}

void Pair::end() {
    (void)endOnce();
}

bool Pair::endOnce() {
    std::lock_guard lock(mutex_);
    const bool isFirst = !std::exchange(isEnding_, true);
    if (driver_ != nullptr) {
        driver_->close();
    }
    if (server_ != nullptr) {
        server_->close();
    }
    return isFirst;
}

bool Pair::isOver() const {
    std::lock_guard lock(mutex_);
    return isOver_;
}

bool Pair::adopt(std::unique_ptr<Session> server) {
    std::lock_guard lock(mutex_);
    server_ = std::move(server);
    return !isEnding_;
}

void Pair::run(const Dial& dial) {
    StatusOr<std::unique_ptr<Session>> server = dial();
    if (server.isOk() && adopt(std::move(*server))) {
        const platform::Thread back("to-driver", [this] { carry(*server_, *driver_, "server"); });
        carry(*driver_, *server_, "driver");
    }
    leaveBoth();
    onOver_();
}

/// Closing an RDMA session may take a while, until everything sent has arrived: done without the
/// mutex.
void Pair::leaveBoth() {
    std::unique_lock lock(mutex_);
    std::unique_ptr<Session> driver = std::move(driver_), server = std::move(server_);
    lock.unlock();
    driver.reset();
    server.reset();
    lock.lock();
    isOver_ = true;
}

void Pair::carry(Session& from, Session& to, const char* fromName) {
    Status status;
    while (status.isOk()) {
        StatusOr<transport::Message> message = from.sourceMessage();
        if (!message.isOk()) {
            status = std::move(message).status();
            break;
        }
        transport::ReplyChain chain;
        chain.append(message->view(), nullptr);  // sinking blocks, so the message outlives it
        status = to.sinkMessage(std::move(chain));
    }
    if (endOnce() && status.code() != Code::kCancelled) {
        telemetry::logInfo("proxy",
                           "Ending the connection of " + driver_->peer().remote + ", from " +
                               fromName + ": " + status.toString());
    }
}

}  // namespace freshet::proxy
