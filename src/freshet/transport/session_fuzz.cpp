// SPDX-License-Identifier: Apache-2.0
/// libFuzzer target: any bytes, in pieces of any size, through a reactor's session and its state
/// machine. The first byte chooses the sizes of the pieces and the session's limit.
#include "freshet/transport/service_state_machine.h"
#include "freshet/transport/session/step_executor_for_test.h"
#include "freshet/transport/tcp/reactor.h"
#include "freshet/transport/tcp/tcp_session.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

namespace freshet::transport {
namespace {

/// Echoes, and touches every byte on the way.
class Echo final : public MessageHandler {
public:
    sync::Task<HandlerResult> handle(Message message) override {
        HandlerResult result;
        result.reply = ReplyChain(std::string(message.view()));
        co_return result;
    }
    sync::Task<HandlerResult> handleExhaust() override { co_return HandlerResult(); }
};

class Echoes final : public MessageHandlerFactory {
public:
    explicit Echoes(size_t bytesMax) : bytesMax_(bytesMax) {}
    std::unique_ptr<MessageHandler> create(const PeerInfo&) override {
        return std::make_unique<Echo>();
    }
    size_t firstMessageBytesMax() const override { return bytesMax_; }

private:
    const size_t bytesMax_;
};

Reactor& reactor() {
    static Reactor* only = [] {
        auto made = Reactor::create(0, {});
        invariant(made.isOk());
        static Admission admission(std::make_shared<sync::MemoryPool>(uint64_t{128} << 20), 1'000);
        (*made)->blocks().freeBytesMax = Admission::kFreeBytesMax;
        (*made)->memory().use(&admission, 1);
        (*made)->start();
        return std::move(made).value().release();  // until the process ends
    }();
    return *only;
}

sync::Task<void> serve(int socket, Echoes* handlers, sync::WaitToken ended) {
    static const TlsPolicy kPlain;
    auto session = makeReactorSession(reactor(), socket, nextConnectionId(), kPlain);
    invariant(session.isOk());
    {
        ServiceStateMachine machine(std::move(session).value(), *handlers, nullptr);
        (void)co_await machine.run();
        invariant(machine.state().current() == State::kEnded);
    }
    ended.complete();
}

void feed(const uint8_t* data, size_t size) {
    constexpr size_t kPieceMax = 64;
    const size_t piece = 1 + data[0] % kPieceMax;
    Echoes handlers((data[0] & 0x80) != 0 ? 100 : wire::kMessageBytesMax);
    int both[2];
    invariant(::socketpair(AF_UNIX, SOCK_STREAM, 0, both) == 0);
    const sync::WaitToken ended = sync::WaitToken::create();
    sync::spawn(reactor(), serve(both[0], &handlers, ended));
    char dropped[4096];
    for (size_t at = 1; at < size; at += piece) {
        if (::send(both[1], data + at, std::min(piece, size - at), MSG_NOSIGNAL) < 0) {
            break;
        }
        while (::recv(both[1], dropped, sizeof(dropped), MSG_DONTWAIT) > 0) {
        }
    }
    ::close(both[1]);
    sync::blockOn(ended);
}

}  // namespace
}  // namespace freshet::transport

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size > 0) {
        freshet::transport::feed(data, size);
    }
    return 0;
}
