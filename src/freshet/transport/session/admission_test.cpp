// SPDX-License-Identifier: Apache-2.0
/// Which session gets room for a long message, and in which order.
#include "freshet/transport/session/admission.h"

#include <gtest/gtest.h>

namespace freshet::transport {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kNeverMillis = 3'600'000;

class Admissions : public ::testing::Test {
protected:
    std::shared_ptr<sync::MemoryPool> pool = std::make_shared<sync::MemoryPool>(128 * kMiB);
    Admission admission{pool, kNeverMillis};
};

TEST_F(Admissions, LargeMessagesShareHalfThePoolInTheirOrder) {
    auto first = std::make_unique<Admission::Ticket>(admission, 48 * kMiB);
    auto second = std::make_unique<Admission::Ticket>(admission, 48 * kMiB);
    auto third = std::make_unique<Admission::Ticket>(admission, 2 * kMiB);
    EXPECT_TRUE(first->isAdmitted());
    EXPECT_FALSE(second->isAdmitted());
    EXPECT_FALSE(third->isAdmitted()) << "otherwise the largest would wait for ever";
    const sync::WaitToken woken = sync::WaitToken::create();
    EXPECT_TRUE(second->wakeBy(woken));
    first.reset();
    EXPECT_TRUE(woken.isDone());
    EXPECT_TRUE(second->isAdmitted());
    EXPECT_TRUE(third->isAdmitted());
    EXPECT_EQ(pool->used(), 50 * kMiB);
    second.reset();
    third.reset();
    EXPECT_EQ(pool->used(), 0u);
}

TEST_F(Admissions, MiddleOnesDoNotWaitForLargeOnes) {
    const Admission::Ticket first(admission, 48 * kMiB), second(admission, 48 * kMiB);
    EXPECT_FALSE(second.isAdmitted());
    const Admission::Ticket middle(admission, kMiB);
    EXPECT_TRUE(middle.isAdmitted());
}

TEST_F(Admissions, AWholeMessageNoLongerBlocksOthers) {
    sync::MemoryHold message;
    {
        Admission::Ticket ticket(admission, 48 * kMiB);
        message = ticket.takeHold();
    }
    EXPECT_EQ(pool->used(), 48 * kMiB) << "its handler holds it";
    const Admission::Ticket next(admission, 48 * kMiB);
    EXPECT_TRUE(next.isAdmitted());
    const Admission::Ticket another(admission, 16 * kMiB);
    EXPECT_TRUE(another.isAdmitted());
    const Admission::Ticket full(admission, 40 * kMiB);
    EXPECT_FALSE(full.isAdmitted());
}

TEST_F(Admissions, ADestroyedTicketIsSkipped) {
    sync::MemoryHold others(pool.get());
    others.resize(100 * kMiB);
    auto first = std::make_unique<Admission::Ticket>(admission, 40 * kMiB);
    const Admission::Ticket second(admission, 20 * kMiB);
    EXPECT_FALSE(first->isAdmitted());
    EXPECT_FALSE(second.isAdmitted());
    first.reset();
    EXPECT_TRUE(second.isAdmitted());
}

TEST_F(Admissions, ReleasedMemoryIsNoticed) {
    sync::MemoryHold others(pool.get());
    others.resize(128 * kMiB);
    const Admission::Ticket ticket(admission, 2 * kMiB);
    EXPECT_FALSE(ticket.isAdmitted());
    others.release();
    admission.admit();
    EXPECT_TRUE(ticket.isAdmitted());
    EXPECT_FALSE(admission.isPressed());
}

TEST(Admission, OneAtATimeIsAdmittedWhileThePoolStaysFull) {
    auto pool = std::make_shared<sync::MemoryPool>(8 * kMiB);
    Admission admission(pool, 0);
    sync::MemoryHold others(pool.get());
    others.resize(8 * kMiB);
    auto first = std::make_unique<Admission::Ticket>(admission, 2 * kMiB);
    EXPECT_TRUE(first->isAdmitted());
    const Admission::Ticket second(admission, 2 * kMiB);
    EXPECT_FALSE(second.isAdmitted());
    EXPECT_TRUE(admission.isPressed());
    first.reset();
    EXPECT_TRUE(second.isAdmitted());
}

TEST(Admission, WithoutABoundNoMessageWaits) {
    Admission admission(std::make_shared<sync::MemoryPool>(), 0);
    const Admission::Ticket first(admission, 48 * kMiB), second(admission, 48 * kMiB);
    EXPECT_TRUE(first.isAdmitted() && second.isAdmitted());
    EXPECT_FALSE(admission.isPressed());
}

}  // namespace
}  // namespace freshet::transport
