// SPDX-License-Identifier: Apache-2.0
/// The command line of `freshet-bench commerce`.
#pragma once

#include "freshet/base/status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::bench {

struct CommerceOptions {
    unsigned workers = 16;
    uint32_t shoppers = 3'200;  // each goes through the shop once
    uint32_t customers = 1'600;
    uint32_t products = 400;
    uint64_t seed = 1;
    unsigned reps = 1;
    std::string uri;         // of a Freshet server; empty: none
    std::string controlUri;  // of a second one, without early release
    std::string postgres;    // libpq's connection string; empty: none
};

/// Parses `arguments`, which follow the word "commerce". Returns kInvalid with a text for the user.
StatusOr<CommerceOptions> parseCommerceOptions(const std::vector<std::string>& arguments);

std::string_view commerceUsage();

}  // namespace freshet::bench
