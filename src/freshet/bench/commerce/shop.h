// SPDX-License-Identifier: Apache-2.0
/// The interface that every server's adapter implements. Every change is durable when its call
/// returns.
#pragma once

#include "freshet/base/status.h"
#include "freshet/bench/commerce/plan.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace freshet::bench {

// Filler for the records; the same for every server.
inline constexpr size_t kDescriptionBytes = 400;
inline constexpr std::string_view kReviewText =
    "It does what it says, it came on time, and I would buy it again from this shop.";
inline std::string productName(uint32_t product) {
    return "product number " + std::to_string(product);
}
inline std::string customerEmail(uint32_t customer) {
    return "customer" + std::to_string(customer) + "@example.com";
}

struct CartLine {
    uint32_t product = 0;
    uint32_t quantity = 0;
    int64_t price = 0;
};

/// A worker's connection. Used by one thread.
class ShopSession {
public:
    virtual ~ShopSession() = default;
    /// Returns the number of products shown.
    virtual StatusOr<uint64_t> browse(uint32_t category) = 0;
    /// Returns the price.
    virtual StatusOr<int64_t> lookUp(uint32_t product) = 0;
    /// Returns the number of reviews shown.
    virtual StatusOr<uint64_t> readReviews(uint32_t product) = 0;
    virtual Status createCart(uint32_t cart, uint32_t customer) = 0;
    virtual Status addLine(uint32_t cart, const CartLine& line) = 0;
    /// True: the cart has become an order, its lines have left the stock, and the customer has
    /// paid. False: there was not enough stock of some product, and nothing has changed.
    virtual StatusOr<bool> checkOut(uint32_t cart, uint32_t customer) = 0;
    virtual Status review(uint32_t customer, const Step& review) = 0;
    /// The work is done: makes sure that the server's counters include all of it.
    virtual Status settle() = 0;
};

/// What the server holds at the end.
struct Books {
    struct Order {
        uint32_t customer = 0;
        int64_t total = 0;
        std::vector<CartLine> lines;
    };
    std::vector<int64_t> stock;  // by product
    std::vector<int64_t> paid;   // by customer
    std::map<uint32_t, Order> orders;
    uint64_t carts = 0;
    uint64_t reviews = 0;
    uint64_t loose = 0;  // traces of checkouts that are neither completed nor undone
};

/// The cost since the server's start.
struct ShopCost {
    std::optional<uint64_t> cpuMicros;  // empty: the server runs on another machine
    uint64_t flushes = 0;
};

class Shop {
public:
    virtual ~Shop() = default;
    virtual std::string_view name() const = 0;
    /// Deletes what exists and loads products and customers.
    virtual Status stock(const Plan& plan) = 0;
    virtual StatusOr<std::unique_ptr<ShopSession>> enter() = 0;
    virtual StatusOr<Books> books() = 0;
    virtual StatusOr<ShopCost> cost() = 0;
};

StatusOr<std::unique_ptr<Shop>> openFreshetShop(const std::string& name, const std::string& uri);
/// Returns kUnsupported in a build without libpq.
StatusOr<std::unique_ptr<Shop>> openPostgresShop(const std::string& connection);

}  // namespace freshet::bench
