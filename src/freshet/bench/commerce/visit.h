// SPDX-License-Identifier: Apache-2.0
/// Sends a plan's shoppers through a shop and checks the books afterwards.
#pragma once

#include "freshet/bench/commerce/shop.h"
#include "freshet/bench/histogram.h"

#include <array>

namespace freshet::bench {

struct VisitResult {
    double wallSeconds = 0;
    double totalSeconds = 0;  // the sum over all operations
    uint64_t clientCpuMicros = 0;
    ShopCost cost;  // the server's cost of this run
    uint64_t orders = 0;
    uint64_t refused = 0;
    Histogram all;
    std::array<Histogram, kShopOpNames.size()> byOp;  // by ShopOp
};

/// REQUIRES: the shop has been stocked with the plan.
StatusOr<VisitResult> visitShop(const Plan& plan, Shop& shop);

/// Returns kCorruption, with a text that says what is wrong: something is missing or left over, a
/// stock is below zero, goods are neither in stock nor sold, an order's total is not the sum of its
/// lines, or a customer has not paid the total of all orders.
Status judgeBooks(const Plan& plan, const VisitResult& result, const Books& books);

}  // namespace freshet::bench
