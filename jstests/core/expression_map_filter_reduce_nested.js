// SPDX-License-Identifier: Apache-2.0
// $map within $filter within $reduce: each names its own variable.
load('jstests/libs/computed.js');
const orders = [{lines: [{q: 2, p: 5}, {q: 1, p: 7}]}, {lines: []}, {lines: [{q: 3, p: 1}]}];
const total = (order) => ({$sum: {$map: {input: `${order}.lines`, as: 'line', in: {$multiply: ['$$line.q', '$$line.p']}}}});
assert.eq(computed({$reduce: {input: {$filter: {input: '$orders', as: 'o', cond: {$ne: ['$$o.lines', []]}}},
                              initialValue: 0, in: {$add: ['$$value', total('$$this')]}}}, {orders}), 20);
