// SPDX-License-Identifier: Apache-2.0
// A write with w: 0 is not acknowledged.
assert.eq(db.c.deleteOne({_id: 1}, {writeConcern: {w: 1}}).acknowledged, true);
