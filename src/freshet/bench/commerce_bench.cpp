// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/commerce_bench.h"

#include "freshet/bench/commerce/visit.h"

#include <cstdio>

namespace freshet::bench {
namespace {

double micros(uint64_t nanos) {
    return static_cast<double>(nanos) / 1e3;
}

std::string latencies(const Histogram& histogram) {
    char text[160];
    std::snprintf(text,
                  sizeof(text),
                  R"("ops": %llu, "p50_us": %.0f, "p99_us": %.0f, "max_us": %.0f)",
                  static_cast<unsigned long long>(histogram.total()),
                  micros(histogram.quantileNanos(0.5)),
                  micros(histogram.quantileNanos(0.99)),
                  micros(histogram.quantileNanos(1)));
    return text;
}

void print(const CommerceOptions& options,
           std::string_view engine,
           unsigned rep,
           const VisitResult& result) {
    const auto ops = static_cast<double>(result.all.total());
    std::printf(R"({"engine": "%.*s", "rep": %u, "workers": %u, "shoppers": %u, "seed": %llu, )"
                R"("wall_s": %.3f, "total_s": %.3f, "ops_per_s": %.0f, %s, )",
                static_cast<int>(engine.size()),
                engine.data(),
                rep,
                options.workers,
                options.shoppers,
                static_cast<unsigned long long>(options.seed),
                result.wallSeconds,
                result.totalSeconds,
                ops / result.wallSeconds,
                latencies(result.all).c_str());
    if (result.cost.cpuMicros) {
        std::printf(R"("server_cpu_us_per_op": %.2f, )",
                    static_cast<double>(*result.cost.cpuMicros) / ops);
    } else {
        std::printf(R"("server_cpu_us_per_op": null, )");
    }
    std::printf(R"("client_cpu_us_per_op": %.2f, "flushes": %llu, "orders": %llu, "refused": %llu)",
                static_cast<double>(result.clientCpuMicros) / ops,
                static_cast<unsigned long long>(result.cost.flushes),
                static_cast<unsigned long long>(result.orders),
                static_cast<unsigned long long>(result.refused));
    for (size_t op = 0; op < result.byOp.size(); ++op) {
        std::printf(R"(, "%s": {%s})", kShopOpNames[op].data(), latencies(result.byOp[op]).c_str());
    }
    std::printf("}\n");
    std::fflush(stdout);
}

StatusOr<std::vector<std::unique_ptr<Shop>>> openShops(const CommerceOptions& options) {
    std::vector<std::unique_ptr<Shop>> shops;
    if (!options.uri.empty()) {
        FRESHET_ASSIGN_OR_RETURN(shops.emplace_back(), openFreshetShop("freshet", options.uri));
    }
    if (!options.controlUri.empty()) {
        FRESHET_ASSIGN_OR_RETURN(shops.emplace_back(),
                                 openFreshetShop("freshet-control", options.controlUri));
    }
    if (!options.postgres.empty()) {
        FRESHET_ASSIGN_OR_RETURN(shops.emplace_back(), openPostgresShop(options.postgres));
    }
    return shops;
}

Status measure(const CommerceOptions& options, const Plan& plan, unsigned rep, Shop& shop) {
    FRESHET_RETURN_IF_ERROR(shop.stock(plan));
    FRESHET_ASSIGN_OR_RETURN(VisitResult result, visitShop(plan, shop));
    FRESHET_ASSIGN_OR_RETURN(Books books, shop.books());
    FRESHET_RETURN_IF_ERROR(judgeBooks(plan, result, books));
    print(options, shop.name(), rep, result);
    return Status::ok();
}

}  // namespace

Status runCommerceBench(const CommerceOptions& options) {
    const Plan plan = Plan::make(options);
    FRESHET_ASSIGN_OR_RETURN(auto shops, openShops(options));
    for (unsigned rep = 0; rep < options.reps; ++rep) {
        for (auto& shop : shops) {
            if (Status status = measure(options, plan, rep, *shop); !status.isOk()) {
                return status.withContext(shop->name());
            }
        }
    }
    return Status::ok();
}

}  // namespace freshet::bench
