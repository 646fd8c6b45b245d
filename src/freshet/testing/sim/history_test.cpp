// SPDX-License-Identifier: Apache-2.0
/// The history checker, with histories that show one anomaly each, and some that show none.
#include "freshet/testing/sim/history.h"

#include <gtest/gtest.h>

namespace freshet::testing {
namespace {

using Kind = AnomalyKind;

HistoryOp read(uint32_t key, std::vector<uint32_t> seen) {
    return HistoryOp::read(key, std::move(seen));
}
HistoryOp append(uint32_t key, uint32_t element) {
    return HistoryOp::append(key, element);
}

constexpr uint32_t kX = 1, kY = 2;

/// All at the same time, so that nothing follows from the clock.
HistoryTxn txn(std::vector<HistoryOp> ops) {
    return {0, 100, true, std::move(ops)};
}
HistoryTxn aborted(std::vector<HistoryOp> ops) {
    return {0, 100, false, std::move(ops)};
}

void expectOnly(Kind kind, const std::vector<HistoryTxn>& history) {
    const HistoryReport report = checkHistory(history);
    EXPECT_TRUE(report.has(kind)) << "not found; only: " << report.text();
    for (const Anomaly& anomaly : report.anomalies) {
        EXPECT_EQ(anomaly.kind, kind) << report.text();
    }
}

void expectSound(const std::vector<HistoryTxn>& history, bool hasWriteSkew) {
    const HistoryReport report = checkHistory(history);
    EXPECT_EQ(report.text(), "");
    EXPECT_EQ(report.hasWriteSkew, hasWriteSkew);
}

TEST(History, OfOneAfterTheOtherIsSound) {
    expectSound({}, false);
    expectSound({{1, 2, true, {read(kX, {}), append(kX, 1), read(kX, {1}), append(kX, 2)}},
                 {3, 4, true, {read(kX, {1, 2}), read(kY, {}), append(kY, 3)}},
                 {5, 6, false, {read(kY, {3}), append(kY, 4), read(kY, {3, 4})}},
                 {7, 8, true, {read(kX, {1, 2}), read(kY, {3})}}},
                false);
}

TEST(History, AnOldSnapshotIsSoundWhileItsTransactionIsOpen) {
    expectSound({{1, 9, true, {read(kX, {}), read(kY, {})}},
                 {2, 3, true, {read(kX, {}), append(kX, 1)}},
                 {4, 5, true, {read(kY, {}), append(kY, 2), read(kX, {1})}}},
                false);
}

TEST(History, WriteSkewIsAllowed) {
    expectSound({txn({read(kX, {}), read(kY, {}), append(kX, 1)}),
                 txn({read(kX, {}), read(kY, {}), append(kY, 2)}),
                 txn({read(kX, {1}), read(kY, {2})})},
                true);
}

TEST(History, InternalReads) {
    expectOnly(Kind::kInternal, {txn({read(kX, {}), append(kX, 1), read(kX, {})})});
    expectOnly(Kind::kInternal,
               {txn({read(kX, {}), append(kX, 1)}), txn({read(kX, {}), read(kX, {1})})});
}

TEST(History, GarbageReads) {
    expectOnly(Kind::kGarbage, {txn({read(kX, {7})})});
    expectOnly(Kind::kGarbage, {txn({append(kX, 1)}), txn({read(kX, {1, 1})})});
}

TEST(History, AbortedReads) {
    expectOnly(Kind::kAbortedRead, {aborted({read(kX, {}), append(kX, 1)}), txn({read(kX, {1})})});
    // A transaction that is rolled back must not have seen it either.
    expectOnly(Kind::kAbortedRead,
               {aborted({read(kX, {}), append(kX, 1)}), aborted({read(kX, {1})})});
}

TEST(History, IntermediateReads) {
    expectOnly(Kind::kIntermediate,
               {txn({read(kX, {}), append(kX, 1), append(kX, 2)}), txn({read(kX, {1})})});
}

TEST(History, LostUpdates) {
    // Both on the same list: one is lost.
    expectOnly(Kind::kLostUpdate,
               {txn({read(kX, {}), append(kX, 1)}),
                txn({read(kX, {}), append(kX, 2)}),
                txn({read(kX, {2})})});
    // The same without a later read.
    expectOnly(Kind::kLostUpdate,
               {txn({read(kX, {}), append(kX, 1)}), txn({read(kX, {}), append(kX, 2)})});
    // A blind append that a later reader does not see.
    expectOnly(Kind::kLostUpdate, {{1, 2, true, {append(kX, 1)}}, {3, 4, true, {read(kX, {})}}});
}

TEST(History, TwoOrders) {
    expectOnly(Kind::kOrder,
               {txn({append(kX, 1)}),
                txn({append(kX, 2)}),
                txn({read(kX, {1, 2})}),
                txn({read(kX, {2, 1})})});
}

TEST(History, DirtyWrites) {
    expectOnly(Kind::kDirtyWrite,
               {txn({append(kX, 1), append(kY, 2)}),
                txn({append(kX, 3), append(kY, 4)}),
                txn({read(kX, {1, 3})}),
                txn({read(kY, {4, 2})})});
}

TEST(History, CircularFlow) {
    expectOnly(Kind::kCircular,
               {txn({append(kX, 1), read(kY, {2})}), txn({append(kY, 2), read(kX, {1})})});
}

TEST(History, ReadSkew) {
    expectOnly(Kind::kReadSkew,
               {txn({read(kX, {}), read(kY, {}), append(kX, 1), append(kY, 2)}),
                txn({read(kX, {}), read(kY, {2})})});
    // By a transaction that was rolled back: it has seen it all the same.
    expectOnly(Kind::kReadSkew,
               {txn({read(kX, {}), read(kY, {}), append(kX, 1), append(kY, 2)}),
                aborted({read(kX, {}), read(kY, {2})})});
}

TEST(History, LongForks) {
    expectOnly(Kind::kLongFork,
               {txn({read(kX, {}), append(kX, 1)}),
                txn({read(kY, {}), append(kY, 2)}),
                txn({read(kX, {1}), read(kY, {})}),
                txn({read(kX, {}), read(kY, {2})})});
}

TEST(History, StaleSnapshots) {
    expectOnly(Kind::kStale,
               {{1, 2, true, {read(kX, {}), append(kX, 1)}}, {3, 4, true, {read(kX, {})}}});
    // Through a third, which has seen it and ended before the stale one begins.
    expectOnly(Kind::kStale,
               {{1, 20, true, {read(kX, {}), append(kX, 1)}},
                {2, 3, true, {read(kX, {1})}},
                {4, 5, true, {read(kX, {})}}});
}

TEST(History, AReportNamesTransactionsAndKeys) {
    const std::string text =
        checkHistory({txn({read(kX, {}), read(kY, {}), append(kX, 1), append(kY, 2)}),
                      txn({read(kX, {}), read(kY, {2})})})
            .text();
    EXPECT_NE(text.find("T0 is read in key 2 by T1 misses in key 1 what came from T0"),
              std::string::npos)
        << text;
}

}  // namespace
}  // namespace freshet::testing
