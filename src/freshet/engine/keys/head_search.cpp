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

__attribute__((target("avx2"))) uint32_t countBelowAvx2(const uint64_t* heads,
                                                        uint32_t n,
                                                        uint64_t head) {
    // The machine compares signed numbers only: with the top bit turned their order is the same.
    const __m256i turn = _mm256_set1_epi64x(INT64_MIN);
    const __m256i sought = _mm256_xor_si256(_mm256_set1_epi64x(static_cast<int64_t>(head)), turn);
    __m256i counts = _mm256_setzero_si256();
    uint32_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const __m256i four = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(heads + i));
        const __m256i isBelow = _mm256_cmpgt_epi64(sought, _mm256_xor_si256(four, turn));
        counts = _mm256_sub_epi64(counts, isBelow);  // "below" is -1
    }
    const __m128i two =
        _mm_add_epi64(_mm256_castsi256_si128(counts), _mm256_extracti128_si256(counts, 1));
    const auto below = static_cast<uint32_t>(_mm_cvtsi128_si64(two) + _mm_extract_epi64(two, 1));
    return below + countBelowPlain(heads + i, n - i, head);
}

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
