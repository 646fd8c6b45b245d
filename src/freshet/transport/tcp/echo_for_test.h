// SPDX-License-Identifier: Apache-2.0
/// An echo on real reactors and sockets, and clients for it, shared by the tests of the server's
/// side.
#pragma once

#include "freshet/platform/thread.h"
#include "freshet/transport/connector.h"
#include "freshet/transport/server_transport.h"
#include "freshet/transport/session/step_executor_for_test.h"
#include "freshet/transport/slabs/slab_value_for_test.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <stdexcept>

namespace freshet::transport {

namespace asio = boost::asio;
using asio::ip::tcp;

/// Counters that a test reads while the server runs.
struct Seen {
    sync::Atomic<uint32_t> handlers{0};
    sync::Atomic<uint32_t> handling{0};
    sync::Atomic<uint64_t> passes{0};
    sync::Atomic<uint64_t> openPasses{0};
    sync::Atomic<uint32_t> threads{0};
    std::mutex mutex;
    std::map<sync::Executor*, int> sessionsOn;  // guarded by mutex
    sync::WaitToken gate = sync::WaitToken::create();
    sync::Atomic<uint32_t> peersGone{0};
    sync::Atomic<size_t> bytesMax{wire::kMessageBytesMax};
    PeerInfo lastPeer;                   // guarded by mutex
    sync::MemoryPool* memory = nullptr;  // counts the answers to "big"
    platform::Slabs* slabs = nullptr;    // the values of replies lie there; null: in no slab
};

/// Echoes; "big" answers with many bytes, "stuck" waits for the gate, "alone" until the peer has
/// gone, "timer" for a timer, "hold" blocks the thread.
class EchoHandler final : public MessageHandler {
public:
    explicit EchoHandler(Seen* seen) : seen_(seen) { seen_->handlers.fetch_add(1, sync::kRelaxed); }
    ~EchoHandler() override { seen_->handlers.fetch_sub(1, sync::kRelaxed); }
    sync::Task<HandlerResult> handle(Message message) override {
        EXPECT_EQ(seen_->openPasses.load(sync::kRelaxed) > 0, true) << "outside of a pass";
        const std::string_view text = payloadForTest(message);
        HandlerResult result;
        seen_->handling.fetch_add(1, sync::kRelease);
        if (text == "stuck") {
            co_await sync::wait(seen_->gate);
        } else if (text == "alone") {
            co_await sync::wait(alone_);
        } else if (text == "hold") {
            platform::sleepMillis(80);  // blocks the whole reactor
        } else if (text == "timer") {
            co_await sync::wait(sync::Executor::current()->after(3'600'000));
        }
        if (seen_->slabs != nullptr && text.size() > 2 * kLittle) {
            result.reply = chainWithValue(*seen_->slabs,
                                          std::string(message.view()),
                                          wire::kHeaderBytes + kLittle,
                                          text.size() - 2 * kLittle);
            co_return result;
        }
        if (text == "big") {
            result.reply = bigReply();
        } else {
            result.reply = ReplyChain(std::string(message.view()));
        }
        co_return result;
    }
    sync::Task<HandlerResult> handleExhaust() override { co_return HandlerResult(); }
    size_t messageBytesMax() const override { return seen_->bytesMax.load(sync::kRelaxed); }
    void onPeerGone() override {
        EXPECT_EQ(seen_->openPasses.load(sync::kRelaxed) > 0, true) << "outside of a pass";
        seen_->peersGone.fetch_add(1, sync::kRelaxed);
        alone_.complete();
    }

private:
    struct Big {
        explicit Big(sync::MemoryPool* pool) : hold(pool) { hold.resize(bytes.size()); }
        const std::string bytes = messageForTest(1, std::string(8'000'000, 'B'));
        sync::MemoryHold hold;
    };
    ReplyChain bigReply() const {
        auto big = std::make_shared<Big>(seen_->memory);
        ReplyChain chain;
        const ByteView view = big->bytes;
        chain.append(view, std::move(big));
        return chain;
    }
    static constexpr size_t kLittle = 50;  // before and after the value
    Seen* seen_;
    sync::WaitToken alone_ = sync::WaitToken::create();
};

class EchoFactory final : public MessageHandlerFactory {
public:
    explicit EchoFactory(Seen* seen) : seen_(seen) {}
    size_t firstMessageBytesMax() const override { return seen_->bytesMax.load(sync::kRelaxed); }
    std::unique_ptr<MessageHandler> create(const PeerInfo& peer) override {
        std::lock_guard<std::mutex> lock(seen_->mutex);
        seen_->lastPeer = peer;
        ++seen_->sessionsOn[sync::Executor::current()];
        return std::make_unique<EchoHandler>(seen_);
    }

private:
    Seen* seen_;
};

class Server : public ::testing::Test {
protected:
    void SetUp() override { start({}); }
    void start(ServerTransportOptions options) {
        options.port = 0;
        options.reactors = options.reactors == 0 ? 2 : options.reactors;
        options.passBegin = [this] {
            seen.passes.fetch_add(1, sync::kRelaxed);
            seen.openPasses.fetch_add(1, sync::kRelaxed);
        };
        options.passEnd = [this] { seen.openPasses.fetch_sub(1, sync::kRelaxed); };
        options.threadBegin = [this] { seen.threads.fetch_add(1, sync::kRelaxed); };
        options.threadEnd = [this] { seen.threads.fetch_sub(1, sync::kRelaxed); };
        server.reset();
        auto started = ServerTransport::start(options, std::make_shared<EchoFactory>(&seen));
        if (!started.isOk()) {  // the rest of the test must not run without a server
            throw std::runtime_error(started.status().toString());
        }
        server = std::move(started).value();
    }
    std::unique_ptr<Session> client() {
        ConnectOptions options;
        options.port = server->port();
        return std::move(connect(options)).value();
    }
    tcp::socket rawClient() {
        tcp::socket socket(context);
        socket.connect({asio::ip::address_v4::loopback(), server->port()});
        socket.set_option(tcp::no_delay(true));
        return socket;
    }
    static std::string readMessage(tcp::socket& socket, size_t bytes) {
        std::string out(bytes, '\0');
        asio::read(socket, asio::buffer(out));
        return out;
    }
    /// True when the server ends the connection without sending another byte.
    static bool isEnded(tcp::socket& socket) {
        char byte;
        boost::system::error_code error;
        return asio::read(socket, asio::buffer(&byte, 1), error) == 0 && error;
    }
    static void roundTrip(Session& session, const std::string& payload) {
        const std::string message = messageForTest(7, payload);
        ASSERT_TRUE(session.sinkMessage(ReplyChain(message)).isOk());
        StatusOr<Message> reply = session.sourceMessage();
        ASSERT_TRUE(reply.isOk()) << reply.status().toString();
        EXPECT_EQ(reply->view(), message);
    }
    /// Waits until the server has noticed; bounded by the test runner.
    template <typename F>
    static void waitUntil(F condition) {
        while (!condition()) {
            platform::yieldThread();
        }
    }

    static size_t openDescriptors() {
        const std::filesystem::directory_iterator all("/proc/self/fd");
        return static_cast<size_t>(std::distance(begin(all), end(all)));
    }

    Seen seen;  // outlives the server
    asio::io_context context;
    std::unique_ptr<ServerTransport> server;
};

}  // namespace freshet::transport
