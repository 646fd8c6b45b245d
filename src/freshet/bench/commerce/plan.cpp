// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/commerce/plan.h"

#include <algorithm>
#include <set>

namespace freshet::bench {
namespace {

/// Random numbers that are the same on every platform, unlike those of the standard's
/// distributions.
class Dice {
public:
    explicit Dice(uint64_t seed) : state_(seed * 2 + 1) {}
    uint32_t below(uint32_t bound) {
        state_ += 0x9e3779b97f4a7c15u;
        uint64_t mixed = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9u;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
        return static_cast<uint32_t>(((mixed ^ (mixed >> 31)) >> 32) * bound >> 32);
    }
    bool percent(uint32_t chance) { return below(100) < chance; }
    /// Favours small numbers: a tenth of the products get a third of the visits.
    uint32_t popular(uint32_t bound) {
        const uint64_t first = below(bound);
        return static_cast<uint32_t>(first * below(bound) / bound);
    }

private:
    uint64_t state_;
};

class Planner {
public:
    explicit Planner(const CommerceOptions& options) : options_(options), dice_(options.seed) {}

    Plan make() {
        plan_.workers = options_.workers;
        plan_.customers = options_.customers;
        for (uint32_t i = 0; i < options_.products; ++i) {
            plan_.products.push_back({dice_.below(kCategories), 100 + dice_.below(50'000), 0});
        }
        demand_.resize(plan_.products.size());
        for (uint32_t i = 0; i < options_.shoppers; ++i) {
            plan_.shoppers.push_back(visit(i));
        }
        // One product in twenty will run out.
        for (size_t i = 0; i < demand_.size(); ++i) {
            plan_.products[i].stock = dice_.percent(5) ? demand_[i] * 8 / 10 : demand_[i];
        }
        return std::move(plan_);
    }

private:
    Shopper visit(uint32_t number) {
        const uint32_t worker = number % options_.workers;
        const uint32_t ofWorker =
            (options_.customers - worker + options_.workers - 1) / options_.workers;
        Shopper shopper;
        shopper.customer = dice_.below(ofWorker) * options_.workers + worker;
        add(&shopper, {ShopOp::kBrowse, dice_.below(kCategories)});
        std::vector<uint32_t> wanted;
        const uint32_t seen = 2 + dice_.below(7);
        for (uint32_t i = 0; i < seen; ++i) {
            const uint32_t product = dice_.popular(options_.products);
            add(&shopper, {ShopOp::kLookUp, product});
            if (dice_.percent(40)) {
                add(&shopper, {ShopOp::kReadReviews, product});
            }
            const bool isNew = std::find(wanted.begin(), wanted.end(), product) == wanted.end();
            if (isNew && wanted.size() < 5 && dice_.percent(50)) {
                fillCart(&shopper, product, wanted.empty());
                wanted.push_back(product);
            }
        }
        if (!wanted.empty() && dice_.percent(75)) {
            add(&shopper, {ShopOp::kCheckOut});
            for (uint32_t product : wanted) {
                demand_[product] += quantityOf(shopper, product);
            }
        }
        if (!wanted.empty() && dice_.percent(40)) {
            review(&shopper, wanted.front());
        }
        return shopper;
    }

    void fillCart(Shopper* shopper, uint32_t product, bool isFirst) {
        if (isFirst) {
            add(shopper, {ShopOp::kCreateCart});
        }
        add(shopper, {ShopOp::kAddLine, product, 1 + dice_.below(3)});
    }

    /// A customer has one review for each product.
    void review(Shopper* shopper, uint32_t product) {
        if (reviewed_.emplace(product, shopper->customer).second) {
            const auto number = static_cast<uint32_t>(reviewed_.size());
            add(shopper, {ShopOp::kReview, product, 1 + dice_.below(5), number});
        }
    }

    void add(Shopper* shopper, Step step) {
        shopper->steps.push_back(step);
        ++plan_.counts[static_cast<size_t>(step.op)];
    }

    static uint32_t quantityOf(const Shopper& shopper, uint32_t product) {
        for (const Step& step : shopper.steps) {
            if (step.op == ShopOp::kAddLine && step.subject == product) {
                return step.number;
            }
        }
        return 0;
    }

    const CommerceOptions& options_;
    Dice dice_;
    Plan plan_;
    std::vector<uint32_t> demand_;
    std::set<std::pair<uint32_t, uint32_t>> reviewed_;
};

}  // namespace

Plan Plan::make(const CommerceOptions& options) {
    return Planner(options).make();
}

}  // namespace freshet::bench
