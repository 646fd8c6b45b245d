// SPDX-License-Identifier: Apache-2.0
/// Sends a plan's shoppers through a shop, and looks at the books afterwards.
#pragma once

#include "freshet/bench/commerce/shop.h"
#include "freshet/bench/histogram.h"

#include <array>

namespace freshet::bench {

struct VisitResult {
    double wallSeconds = 0;
    double totalSeconds = 0;  // of all operations, one after the other
    uint64_t clientCpuMicros = 0;
    ShopCost cost;  // the server's, for this only
    uint64_t orders = 0;
    uint64_t refused = 0;
    Histogram all;
    std::array<Histogram, kShopOpNames.size()> byOp;  // by ShopOp
};

/// The shop has been stocked with the plan.
StatusOr<VisitResult> visitShop(const Plan& plan, Shop& shop);

/// kCorruption, saying what is wrong: less or more there than was done, a stock below zero, goods
/// that are neither in stock nor sold, an order whose total is not the sum of its lines, a customer
/// who has not paid the total of his orders.
Status judgeBooks(const Plan& plan, const VisitResult& result, const Books& books);

}  // namespace freshet::bench
