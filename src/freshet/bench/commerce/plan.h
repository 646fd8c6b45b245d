// SPDX-License-Identifier: Apache-2.0
/// What all shoppers will do, made once from a seed, so that every server gets the same work.
#pragma once

#include "freshet/bench/commerce_options.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace freshet::bench {

enum class ShopOp : uint8_t {
    kBrowse,       // the cheapest products of a category
    kLookUp,       // a product by its number
    kReadReviews,  // the newest reviews of a product
    kCreateCart,   // this and all that follow are durable
    kAddLine,      // puts a product into the cart
    kCheckOut,     // the cart becomes an order, if there is enough of everything
    kReview
};
inline constexpr std::array<std::string_view, 7> kShopOpNames = {
    "browse", "look_up", "read_reviews", "create_cart", "add_line", "check_out", "review"};
inline constexpr uint32_t kCategories = 20;
inline constexpr uint32_t kPageProducts = 20;  // of browse
inline constexpr uint32_t kPageReviews = 10;   // of read_reviews

struct Product {
    uint32_t category = 0;
    int64_t price = 0;  // in cents
    uint32_t stock = 0;
};

struct Step {
    ShopOp op;
    uint32_t subject = 0;  // a product or a category
    uint32_t number = 0;   // a line's quantity, a review's stars
    uint32_t review = 0;   // a review's own number
};

/// One visit. Its number is also the number of its cart and of its order.
struct Shopper {
    uint32_t customer = 0;
    std::vector<Step> steps;
};

struct Plan {
    unsigned workers = 0;
    uint32_t customers = 0;
    std::vector<Product> products;
    /// Shopper i belongs to worker i % workers, and so does its customer: no customer is in the
    /// shop twice at the same time.
    std::vector<Shopper> shoppers;
    std::array<uint64_t, kShopOpNames.size()> counts{};  // by ShopOp

    static Plan make(const CommerceOptions& options);
    uint64_t count(ShopOp op) const { return counts[static_cast<size_t>(op)]; }
};

}  // namespace freshet::bench
