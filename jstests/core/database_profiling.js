// SPDX-License-Identifier: Apache-2.0
// The profiler records.
db.setProfilingLevel(2);
db.c.find({marked: 1}).toArray();
db.setProfilingLevel(0);
assert.eq(db.getProfilingStatus().was, 0);
assert.gte(db.system.profile.countDocuments({'command.filter.marked': 1}), 1);
