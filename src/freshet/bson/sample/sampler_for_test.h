// SPDX-License-Identifier: Apache-2.0
/// Random values of every type for this room's tests, from a seed. Most numbers are near limits of
/// types or of rounding; texts are short and share prefixes, so comparisons get past the first
/// byte.
#pragma once

#include "freshet/bson/builder.h"
#include "freshet/testing/sim/seed.h"

#include <cstdint>
#include <random>
#include <string>

namespace freshet::bson {

using freshet::testing::testSeed;

class Sampler {
public:
    explicit Sampler(uint64_t seed) : random_(seed) {}

    /// Any type, nested up to `depth` levels.
    void addValue(Builder& out, std::string_view name, int depth);
    void addNumber(Builder& out, std::string_view name);
    /// A document of up to `fieldsMax` random fields.
    std::string document(int fieldsMax, int depth);
    /// Less than `limit`.
    uint64_t below(uint64_t limit) { return random_() % limit; }

private:
    double someDouble();
    int64_t someInteger();
    Decimal128 someDecimal();
    std::string someText(bool withZeros);
    ObjectId someObjectId();
    void addPointer(Builder& out, std::string_view name);
    void addScopedCode(Builder& out, std::string_view name, int depth);
    void addContainer(Builder& out, std::string_view name, bool isArray, int depth);

    std::mt19937_64 random_;
};

}  // namespace freshet::bson
