// SPDX-License-Identifier: Apache-2.0
#include "freshet/engine/keys/head_search.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace freshet::engine {

uint32_t countBelowPlain(const uint64_t* heads, uint32_t n, uint64_t head) {
    uint32_t below = 0;
    for (uint32_t i = 0; i < n; ++i) {
        below += heads[i] < head ? 1 : 0;
    }
    return below;
}

#if defined(__x86_64__)
namespace {

#define FRESHET_AVX2 __attribute__((target("avx2")))

/// AVX2 compares signed numbers only: with the top bit flipped their order is the unsigned order.
struct Sought {
    __m256i turn;
    __m256i turned;
};

/// -1 in each lane whose head is below.
FRESHET_AVX2 inline __m256i isBelow(const Sought& sought, __m256i four) {
    return _mm256_cmpgt_epi64(sought.turned, _mm256_xor_si256(four, sought.turn));
}

FRESHET_AVX2 inline __m256i load(const uint64_t* heads) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(heads));
}

FRESHET_AVX2 uint32_t countBelowAvx2(const uint64_t* heads, uint32_t n, uint64_t head) {
    const __m256i turn = _mm256_set1_epi64x(INT64_MIN);
    const Sought sought{turn,
                        _mm256_xor_si256(_mm256_set1_epi64x(static_cast<int64_t>(head)), turn)};
    __m256i counts = _mm256_setzero_si256();
    for (const uint64_t* end = heads + (n & ~15u); heads != end; heads += 16) {
        counts = _mm256_add_epi64(counts, isBelow(sought, load(heads)));
        counts = _mm256_add_epi64(counts, isBelow(sought, load(heads + 4)));
        counts = _mm256_add_epi64(counts, isBelow(sought, load(heads + 8)));
        counts = _mm256_add_epi64(counts, isBelow(sought, load(heads + 12)));
    }
    for (const uint64_t* end = heads + (n & 12); heads != end; heads += 4) {
        counts = _mm256_add_epi64(counts, isBelow(sought, load(heads)));
    }
    if ((n & 3) != 0) {
        static constexpr int64_t kMasks[] = {-1, -1, -1, 0, 0, 0};
        const __m256i rest =
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMasks + 3 - (n & 3)));
        const __m256i left = _mm256_maskload_epi64(reinterpret_cast<const long long*>(heads), rest);
        counts = _mm256_add_epi64(counts, _mm256_and_si256(isBelow(sought, left), rest));
    }
    const __m128i two =
        _mm_add_epi64(_mm256_castsi256_si128(counts), _mm256_extracti128_si256(counts, 1));
    return static_cast<uint32_t>(-(_mm_cvtsi128_si64(two) + _mm_extract_epi64(two, 1)));
}

#undef FRESHET_AVX2

}  // namespace

uint32_t countBelow(const uint64_t* heads, uint32_t n, uint64_t head) {
    return __builtin_cpu_supports("avx2") != 0 ? countBelowAvx2(heads, n, head)
                                               : countBelowPlain(heads, n, head);
}
#else
uint32_t countBelow(const uint64_t* heads, uint32_t n, uint64_t head) {
    return countBelowPlain(heads, n, head);
}
#endif

}  // namespace freshet::engine
