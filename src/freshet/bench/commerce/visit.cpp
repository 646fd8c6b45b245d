// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/commerce/visit.h"

#include "freshet/platform/clock.h"
#include "freshet/platform/thread.h"

namespace freshet::bench {
namespace {

/// One worker and its results.
class Worker {
public:
    Worker(const Plan& plan, uint32_t index, std::unique_ptr<ShopSession> session)
        : plan_(plan), index_(index), session_(std::move(session)) {}

    void run() {
        for (uint32_t i = index_; i < plan_.shoppers.size() && status.isOk(); i += plan_.workers) {
            const Shopper& shopper = plan_.shoppers[i];
            for (const Step& step : shopper.steps) {
                const uint64_t begin = platform::monotonicNanos();
                status = perform(i, shopper.customer, step);
                const uint64_t nanos = platform::monotonicNanos() - begin;
                if (!status.isOk()) {
                    return;
                }
                byOp[static_cast<size_t>(step.op)].add(nanos);
                totalNanos += nanos;
            }
        }
    }
    Status settle() { return session_->settle(); }

    Status status;
    uint64_t orders = 0;
    uint64_t refused = 0;
    uint64_t totalNanos = 0;
    std::array<Histogram, kShopOpNames.size()> byOp;

private:
    Status perform(uint32_t number, uint32_t customer, const Step& step) {
        switch (step.op) {
            case ShopOp::kBrowse:
                return session_->browse(step.subject).status();
            case ShopOp::kLookUp: {
                FRESHET_ASSIGN_OR_RETURN(price_, session_->lookUp(step.subject));
                return price_ == plan_.products[step.subject].price
                           ? Status::ok()
                           : Status(Code::kCorruption, "a product has another price");
            }
            case ShopOp::kReadReviews:
                return session_->readReviews(step.subject).status();
            case ShopOp::kCreateCart:
                return session_->createCart(number, customer);
            case ShopOp::kAddLine:
                return session_->addLine(number, {step.subject, step.number, price_});
            case ShopOp::kCheckOut: {
                FRESHET_ASSIGN_OR_RETURN(bool ordered, session_->checkOut(number, customer));
                ++(ordered ? orders : refused);
                return Status::ok();
            }
            case ShopOp::kReview:
                return session_->review(customer, step);
        }
        return Status(Code::kUnsupported, "no such operation");
    }

    const Plan& plan_;
    const uint32_t index_;
    const std::unique_ptr<ShopSession> session_;
    int64_t price_ = 0;  // of the product that the shopper looks at
};

Status wrong(const std::string& what) {
    return Status(Code::kCorruption, "The books are wrong: " + what);
}

Status expectCount(const char* what, uint64_t found, uint64_t expected) {
    return found == expected ? Status::ok()
                             : wrong(std::to_string(found) + " " + what + ", expected " +
                                     std::to_string(expected));
}

Status judgeOrders(const Plan& plan, const Books& books) {
    std::vector<int64_t> sold(plan.products.size()), owed(plan.customers);
    for (const auto& [number, order] : books.orders) {
        int64_t sum = 0;
        for (const CartLine& line : order.lines) {
            sum += line.price * line.quantity;
            sold.at(line.product) += line.quantity;
        }
        if (order.lines.empty() || sum != order.total) {
            return wrong("the total of order " + std::to_string(number));
        }
        if (plan.shoppers.at(number).customer != order.customer) {
            return wrong("the customer of order " + std::to_string(number));
        }
        owed.at(order.customer) += sum;
    }
    for (size_t i = 0; i < sold.size(); ++i) {
        const int64_t left = books.stock.at(i);
        if (left < 0 || left + sold[i] != plan.products[i].stock) {
            return wrong("product " + std::to_string(i) + " has " + std::to_string(left) +
                         " in stock of " + std::to_string(plan.products[i].stock) + ", and " +
                         std::to_string(sold[i]) + " sold");
        }
    }
    return owed == books.paid ? Status::ok() : wrong("a customer has not paid what was ordered");
}

}  // namespace

StatusOr<VisitResult> visitShop(const Plan& plan, Shop& shop) {
    std::vector<std::unique_ptr<Worker>> workers;
    for (uint32_t i = 0; i < plan.workers; ++i) {
        FRESHET_ASSIGN_OR_RETURN(std::unique_ptr<ShopSession> session, shop.enter());
        workers.push_back(std::make_unique<Worker>(plan, i, std::move(session)));
    }
    FRESHET_ASSIGN_OR_RETURN(const ShopCost before, shop.cost());
    const uint64_t cpuBefore = platform::processCpuMicros();
    const uint64_t begin = platform::monotonicNanos();
    std::vector<platform::Thread> threads;
    for (auto& worker : workers) {
        threads.emplace_back("shopper", [&worker] { worker->run(); });
    }
    threads.clear();  // joins
    VisitResult out;
    out.wallSeconds = static_cast<double>(platform::monotonicNanos() - begin) / 1e9;
    out.clientCpuMicros = platform::processCpuMicros() - cpuBefore;
    for (auto& worker : workers) {
        FRESHET_RETURN_IF_ERROR(worker->status);
        FRESHET_RETURN_IF_ERROR(worker->settle());
        out.orders += worker->orders;
        out.refused += worker->refused;
        out.totalSeconds += static_cast<double>(worker->totalNanos) / 1e9;
        for (size_t op = 0; op < out.byOp.size(); ++op) {
            out.byOp[op].merge(worker->byOp[op]);
            out.all.merge(worker->byOp[op]);
        }
    }
    FRESHET_ASSIGN_OR_RETURN(out.cost, shop.cost());
    out.cost.flushes -= before.flushes;
    if (out.cost.cpuMicros && before.cpuMicros) {
        *out.cost.cpuMicros -= *before.cpuMicros;
    }
    return out;
}

Status judgeBooks(const Plan& plan, const VisitResult& result, const Books& books) {
    FRESHET_RETURN_IF_ERROR(
        expectCount("checkouts", result.orders + result.refused, plan.count(ShopOp::kCheckOut)));
    FRESHET_RETURN_IF_ERROR(expectCount("orders", books.orders.size(), result.orders));
    FRESHET_RETURN_IF_ERROR(
        expectCount("carts", books.carts, plan.count(ShopOp::kCreateCart) - result.orders));
    FRESHET_RETURN_IF_ERROR(expectCount("reviews", books.reviews, plan.count(ShopOp::kReview)));
    FRESHET_RETURN_IF_ERROR(expectCount("unfinished checkouts", books.loose, 0));
    FRESHET_RETURN_IF_ERROR(expectCount("products", books.stock.size(), plan.products.size()));
    FRESHET_RETURN_IF_ERROR(expectCount("customers", books.paid.size(), plan.customers));
    return judgeOrders(plan, books);
}

}  // namespace freshet::bench
