// SPDX-License-Identifier: Apache-2.0
#include "freshet/bench/commerce_options.h"

#include "freshet/bench/arguments.h"

namespace freshet::bench {
namespace {

template <typename T>
auto bounded(T CommerceOptions::*field, uint64_t least, uint64_t most) {
    return [=](CommerceOptions* out, const std::string& value) {
        return number(value, least, most, &(out->*field));
    };
}

auto text(std::string CommerceOptions::*field) {
    return [=](CommerceOptions* out, const std::string& value) {
        out->*field = value;
        return Status::ok();
    };
}

const Setters<CommerceOptions>& commerceSetters() {
    static const Setters<CommerceOptions> all = {
        {"--workers", bounded(&CommerceOptions::workers, 1, 512)},
        {"--shoppers", bounded(&CommerceOptions::shoppers, 1, 10'000'000)},
        {"--customers", bounded(&CommerceOptions::customers, 1, 10'000'000)},
        {"--products", bounded(&CommerceOptions::products, 10, 1'000'000)},
        {"--seed", bounded(&CommerceOptions::seed, 0, UINT64_MAX)},
        {"--reps", bounded(&CommerceOptions::reps, 1, 1'000)},
        {"--uri", text(&CommerceOptions::uri)},
        {"--control", text(&CommerceOptions::controlUri)},
        {"--postgres", text(&CommerceOptions::postgres)},
    };
    return all;
}

}  // namespace

StatusOr<CommerceOptions> parseCommerceOptions(const std::vector<std::string>& arguments) {
    CommerceOptions out;
    FRESHET_RETURN_IF_ERROR(
        parseArguments(arguments, commerceSetters(), Flags<CommerceOptions>(), &out));
    if (out.uri.empty() && out.controlUri.empty() && out.postgres.empty()) {
        return badValue("nothing to measure: give --uri, --control or --postgres");
    }
    if (out.customers < out.workers) {
        return badValue("--customers: each worker needs one of its own");
    }
    return out;
}

std::string_view commerceUsage() {
    return R"(usage: freshet-bench commerce [options]
A shop with durable commits: customers, products, carts, reviews, checkout. The same plan for every
server; the servers take turns; the books are checked afterwards. One JSON object for each turn.
  --uri URI             a Freshet server; its database "commerce" is dropped and filled
  --control URI         another one, started with earlyRelease off: the control
  --postgres CONNINFO   a PostgreSQL server; its schema "freshet_commerce" is dropped and filled
  --workers N           connections, each with one request in flight (default 16)
  --shoppers N          how many go through the shop (default 3200)
  --customers N         default 1600
  --products N          default 400
  --seed N              of the plan (default 1)
  --reps N              the servers take turns N times (default 1)
)";
}

}  // namespace freshet::bench
