// SPDX-License-Identifier: Apache-2.0
/// Tests the commerce benchmark's plan and its check of the books, with a shop in memory that can
/// be made to cheat.
#include "freshet/bench/commerce/visit.h"
#include "freshet/bench/processes.h"
#include "freshet/platform/thread.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>

namespace freshet::bench {
namespace {

CommerceOptions small() {
    CommerceOptions options;
    options.workers = 4;
    options.shoppers = 400;
    options.customers = 30;
    options.products = 200;
    options.uri = "unused";
    return options;
}

/// The fault that the shop in memory has.
enum class Cheat {
    kNothing,
    kOversell,
    kForgetReview,
    kForgetPayment,
    kWrongTotal,
    kKeepCart,
    kLoseGoods,
    kLoseOrder
};

class MemoryShop final : public Shop {
public:
    explicit MemoryShop(Cheat cheat) : cheat_(cheat) {}
    std::string_view name() const override { return "memory"; }
    Status stock(const Plan& plan) override {
        books_ = Books();
        for (const Product& product : plan.products) {
            books_.stock.push_back(product.stock);
            prices_.push_back(product.price);
        }
        books_.paid.resize(plan.customers);
        return Status::ok();
    }
    StatusOr<std::unique_ptr<ShopSession>> enter() override;
    StatusOr<Books> books() override {
        Books out = books_;
        out.carts = carts_.size();
        return out;
    }
    StatusOr<ShopCost> cost() override { return ShopCost{std::nullopt, ++asked_}; }

private:
    friend class MemorySession;
    bool cheats(Cheat how) const { return cheat_ == how; }

    const Cheat cheat_;
    std::mutex mutex_;
    std::vector<int64_t> prices_;
    std::map<uint32_t, std::vector<CartLine>> carts_;
    Books books_;
    uint64_t asked_ = 0;
};

class MemorySession final : public ShopSession {
public:
    explicit MemorySession(MemoryShop& shop) : shop_(shop) {}
    StatusOr<uint64_t> browse(uint32_t) override { return uint64_t{1}; }
    StatusOr<int64_t> lookUp(uint32_t product) override { return shop_.prices_[product]; }
    StatusOr<uint64_t> readReviews(uint32_t) override { return uint64_t{0}; }
    Status createCart(uint32_t cart, uint32_t) override {
        std::lock_guard lock(shop_.mutex_);
        shop_.carts_[cart];
        return Status::ok();
    }
    Status addLine(uint32_t cart, const CartLine& line) override {
        std::lock_guard lock(shop_.mutex_);
        shop_.carts_[cart].push_back(line);
        return Status::ok();
    }
    StatusOr<bool> checkOut(uint32_t cart, uint32_t customer) override {
        std::lock_guard lock(shop_.mutex_);
        const std::vector<CartLine> lines = shop_.carts_[cart];
        int64_t total = shop_.cheats(Cheat::kWrongTotal) ? 1 : 0;
        for (const CartLine& line : lines) {
            if (shop_.books_.stock[line.product] < line.quantity &&
                !shop_.cheats(Cheat::kOversell)) {
                return false;
            }
            total += line.price * line.quantity;
        }
        for (const CartLine& line : lines) {
            shop_.books_.stock[line.product] -=
                line.quantity + (shop_.cheats(Cheat::kLoseGoods) ? 1 : 0);
        }
        if (!shop_.cheats(Cheat::kLoseOrder)) {
            shop_.books_.orders[cart] = {customer, total, lines};
        }
        shop_.books_.paid[customer] += shop_.cheats(Cheat::kForgetPayment) ? 0 : total;
        if (!shop_.cheats(Cheat::kKeepCart)) {
            shop_.carts_.erase(cart);
        }
        return true;
    }
    Status review(uint32_t, const Step&) override {
        std::lock_guard lock(shop_.mutex_);
        shop_.books_.reviews += shop_.cheats(Cheat::kForgetReview) ? 0 : 1;
        return Status::ok();
    }
    Status settle() override { return Status::ok(); }

private:
    MemoryShop& shop_;
};

StatusOr<std::unique_ptr<ShopSession>> MemoryShop::enter() {
    return std::unique_ptr<ShopSession>(new MemorySession(*this));
}

Status judged(Cheat cheat) {
    const Plan plan = Plan::make(small());
    MemoryShop shop(cheat);
    EXPECT_TRUE(shop.stock(plan).isOk());
    auto result = visitShop(plan, shop);
    EXPECT_TRUE(result.isOk());
    EXPECT_EQ(result->cost.flushes, 1u);  // those during the visit
    uint64_t ops = 0;
    for (size_t op = 0; op < plan.counts.size(); ++op) {
        EXPECT_EQ(result->byOp[op].total(), plan.counts[op]);
        ops += plan.counts[op];
    }
    EXPECT_EQ(result->all.total(), ops);
    if (cheat == Cheat::kNothing) {
        EXPECT_GT(result->refused, 0u);
        EXPECT_GT(result->orders, 2 * result->refused);
    }
    return judgeBooks(plan, *result, *shop.books());
}

TEST(CommerceBooks, AnHonestShopPasses) {
    const Status status = judged(Cheat::kNothing);
    EXPECT_TRUE(status.isOk()) << status.toString();
}

class Cheats : public ::testing::TestWithParam<Cheat> {};

TEST_P(Cheats, AreFound) {
    EXPECT_EQ(judged(GetParam()).code(), Code::kCorruption);
}

INSTANTIATE_TEST_SUITE_P(All,
                         Cheats,
                         ::testing::Values(Cheat::kOversell,
                                           Cheat::kForgetReview,
                                           Cheat::kForgetPayment,
                                           Cheat::kWrongTotal,
                                           Cheat::kKeepCart,
                                           Cheat::kLoseGoods,
                                           Cheat::kLoseOrder));

TEST(CommercePlan, IsTheSameForASeedAndAnotherForAnother) {
    const auto shapeOf = [](uint64_t seed) {
        CommerceOptions options = small();
        options.seed = seed;
        std::vector<uint32_t> out;
        for (const Shopper& shopper : Plan::make(options).shoppers) {
            out.push_back(shopper.customer);
            for (const Step& step : shopper.steps) {
                out.push_back(static_cast<uint32_t>(step.op) * 1'000'000 + step.subject * 10 +
                              step.number);
            }
        }
        return out;
    };
    EXPECT_EQ(shapeOf(7), shapeOf(7));
    EXPECT_NE(shapeOf(7), shapeOf(8));
}

TEST(CommercePlan, NoCustomerIsInTheShopTwiceOrReviewsTwice) {
    const CommerceOptions options = small();
    const Plan plan = Plan::make(options);
    std::set<std::pair<uint32_t, uint32_t>> reviewed;
    for (size_t i = 0; i < plan.shoppers.size(); ++i) {
        const Shopper& shopper = plan.shoppers[i];
        EXPECT_LT(shopper.customer, options.customers);
        EXPECT_EQ(shopper.customer % options.workers, i % options.workers);
        for (const Step& step : shopper.steps) {
            if (step.op == ShopOp::kReview) {
                EXPECT_TRUE(reviewed.emplace(step.subject, shopper.customer).second);
            }
        }
    }
    EXPECT_EQ(reviewed.size(), plan.count(ShopOp::kReview));
    EXPECT_GT(reviewed.size(), 0u);
}

TEST(CommerceOptions, MistakesAreNamed) {
    EXPECT_FALSE(parseCommerceOptions({}).isOk());
    EXPECT_FALSE(parseCommerceOptions({"--uri", "x", "--workers", "8", "--customers", "7"}).isOk());
    auto parsed = parseCommerceOptions({"--uri", "x", "--workers", "0"});
    ASSERT_FALSE(parsed.isOk());
    EXPECT_NE(parsed.status().text().find("--workers"), std::string_view::npos);
}

TEST(Processes, AFamilyIncludesItsChildren) {
    auto child = ChildProcess::start({"/bin/sh", "-c", "while :; do :; done"}, "/dev/null");
    ASSERT_TRUE(child.isOk());
    EXPECT_EQ(programOf(INT32_MAX), "");
    const auto all = [] { return cpuMicrosOfFamily(platform::processId()).value(); };
    const auto own = [] { return cpuMicrosOf(platform::processId()).value(); };
    constexpr uint64_t kOfChild = 100'000;
    while (all() < own() + kOfChild) {  // without the child's time this would not end
        platform::sleepMillis(10);
    }
    EXPECT_EQ(programOf(child->pid()), "sh");  // certain only now that it has used processor time
    // A child that has ended is still counted.
    child->stop();
    EXPECT_GE(all(), own() + kOfChild / 2);
}

}  // namespace
}  // namespace freshet::bench
