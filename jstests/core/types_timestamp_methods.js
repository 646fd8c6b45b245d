// SPDX-License-Identifier: Apache-2.0
// The halves of a timestamp can be read under every name, and timestamps compare.
const early = Timestamp({t: 5, i: 6});
assert.eq([early.t, early.i, early.high, early.low, early.getHighBits(), early.getLowBits(), early.getTime(), early.getInc()], [5, 6, 5, 6, 5, 6, 5, 6]);
const late = Timestamp(4294967295, 7);
assert.eq([late.high, late.getHighBitsUnsigned(), late.getLowBitsUnsigned()], [-1, 4294967295, 7]);
assert.eq([early.lt(late), early.lte(early), early.gt(late), early.gte(late), early.compare(late), late.comp(early), early.eq(Timestamp(5, 6)), early.ne(late)],
          [true, true, false, false, -1, 1, true, true]);
assert.eq(early.toNumber(), 5 * 2 ** 32 + 6);
