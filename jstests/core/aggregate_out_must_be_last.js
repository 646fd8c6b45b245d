// SPDX-License-Identifier: Apache-2.0
// Writing stages stand at the end, and not within $facet or $lookup.
assert.throwsWithCode(() => db.c.aggregate([{$out: 'x'}, {$match: {}}]), 40601);
assert.throws(() => db.c.aggregate([{$facet: {a: [{$out: 'x'}]}}]));
