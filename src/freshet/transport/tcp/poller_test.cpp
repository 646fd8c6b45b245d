// SPDX-License-Identifier: Apache-2.0
/// The poller on real descriptors and clocks, on the test's thread.
#include "freshet/transport/tcp/poller.h"

#include "freshet/platform/clock.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace freshet::transport {
namespace {

struct Counting : Watched {
    void onEvents(uint32_t some) override {
        ++count;
        events |= some;
    }
    int count = 0;
    uint32_t events = 0;
};

class PollerTest : public testing::Test {
protected:
    void SetUp() override { ASSERT_EQ(0, ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_)); }
    void TearDown() override {
        ::close(ends_[0]);
        if (ends_[1] >= 0) {
            ::close(ends_[1]);
        }
    }
    void send(std::string_view bytes) {
        ASSERT_EQ(static_cast<ssize_t>(bytes.size()),
                  ::write(ends_[1], bytes.data(), bytes.size()));
    }

    std::unique_ptr<Poller> poller_ = std::move(Poller::create()).value();
    int ends_[2] = {-1, -1};
};

TEST_F(PollerTest, AnEdgeIsToldOnceAndEachArrivalIsOne) {
    Counting input;
    ASSERT_TRUE(poller_->watch(ends_[0], EPOLLIN | EPOLLRDHUP | EPOLLET, &input).isOk());
    poller_->poll(false);
    EXPECT_EQ(0, input.count);
    send("first");
    poller_->poll(true);
    poller_->poll(false);
    EXPECT_EQ(1, input.count);
    send("second");  // though the first has not been read
    poller_->poll(true);
    EXPECT_EQ(2, input.count);
    EXPECT_EQ(0u, input.events & EPOLLRDHUP);
    ::close(std::exchange(ends_[1], -1));
    poller_->poll(true);
    EXPECT_NE(0u, input.events & EPOLLRDHUP);
    poller_->unwatch(ends_[0]);
}

TEST_F(PollerTest, RewatchTellsWhatIsThereAlready) {
    Counting once;
    ASSERT_TRUE(poller_->watch(ends_[0], EPOLLONESHOT, &once).isOk());
    send("early");
    poller_->poll(false);
    EXPECT_EQ(0, once.count);
    for (int expected = 1; expected <= 2; ++expected) {
        poller_->rewatch(ends_[0], EPOLLIN | EPOLLONESHOT, &once);
        poller_->poll(true);
        poller_->poll(false);
        EXPECT_EQ(expected, once.count);
    }
    poller_->unwatch(ends_[0]);
    send("late");
    poller_->poll(false);
    EXPECT_EQ(2, once.count);
}

TEST_F(PollerTest, EachWriteOfAnEventfdIsAnEventThoughNobodyReadsIt) {
    const int fd = ::eventfd(0, EFD_NONBLOCK);
    Counting wake;
    ASSERT_TRUE(poller_->watch(fd, EPOLLIN | EPOLLET, &wake).isOk());
    const uint64_t one = 1;
    for (int expected = 1; expected <= 1000; ++expected) {
        ASSERT_EQ(8, ::write(fd, &one, sizeof(one)));
        poller_->poll(true);
        EXPECT_EQ(expected, wake.count);
    }
    poller_->unwatch(fd);
    ::close(fd);
}

TEST_F(PollerTest, AClosedDescriptorCannotBeWatched) {
    Counting nothing;
    const Status status = poller_->watch(-1, EPOLLIN, &nothing);
    EXPECT_EQ(Code::kIo, status.code());
}

TEST_F(PollerTest, TimersAreDueInTheirOrderAndNeverEarly) {
    const uint64_t began = platform::monotonicNanos();
    std::vector<int> made;
    LaterCall second(*poller_);
    LaterCall first(*poller_);
    second.start(8, [&] { made.push_back(2); });
    first.start(3, [&] { made.push_back(1); });
    const sync::WaitToken token = sync::WaitToken::create();
    poller_->completeLater(5, token);
    while (made.empty()) {
        poller_->poll(true);
    }
    EXPECT_GE(platform::monotonicNanos() - began, 3'000'000u);
    while (made.size() < 2) {
        poller_->poll(true);
    }
    EXPECT_GE(platform::monotonicNanos() - began, 8'000'000u);
    EXPECT_EQ((std::vector<int>{1, 2}), made);
    EXPECT_TRUE(token.isDone());
}

TEST_F(PollerTest, ACancelledCallIsNotMadeAndOneStartedAgainIsMadeOnce) {
    std::vector<int> made;
    LaterCall again(*poller_);
    again.start(1, [&] { made.push_back(1); });
    again.start(2, [&] { made.push_back(2); });
    {
        LaterCall gone(*poller_);
        gone.start(1, [&] { made.push_back(3); });
    }
    LaterCall last(*poller_);
    last.start(4, [&] { made.push_back(4); });
    while (made.empty() || made.back() != 4) {
        poller_->poll(true);
    }
    EXPECT_EQ((std::vector<int>{2, 4}), made);
    again.cancel();  // it was made
}

TEST_F(PollerTest, ACallMayEndItsOwnTimer) {
    auto own = std::make_unique<LaterCall>(*poller_);
    own->start(1, [&] { own.reset(); });
    while (own != nullptr) {
        poller_->poll(true);
    }
}

TEST_F(PollerTest, TokensAreCompleteEarlyAndCallsAreNot) {
    bool isMade = false;
    LaterCall call(*poller_);
    call.start(1, [&] { isMade = true; });
    const sync::WaitToken before = sync::WaitToken::create();
    poller_->completeLater(3'600'000, before);
    poller_->completeEarly();
    EXPECT_TRUE(before.isDone());
    EXPECT_FALSE(isMade);
    const sync::WaitToken after = sync::WaitToken::create();
    poller_->completeLater(3'600'000, after);
    EXPECT_TRUE(after.isDone());
    while (!isMade) {
        poller_->poll(true);
    }
}

}  // namespace
}  // namespace freshet::transport
