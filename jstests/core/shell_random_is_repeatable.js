// SPDX-License-Identifier: Apache-2.0
// The same seed gives the same numbers.
const draw = () => { Random.setRandomSeed(42); return Array.from({length: 5}, () => Random.randInt(100)); };
assert.eq(draw(), draw());
assert(draw().every((n) => n >= 0 && n < 100));
