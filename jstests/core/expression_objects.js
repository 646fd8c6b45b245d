// SPDX-License-Identifier: Apache-2.0
// $mergeObjects, $objectToArray and $arrayToObject.
load('jstests/libs/computed.js');
assert.eq(computed({$mergeObjects: ['$a', {y: 2}, null]}, {a: {x: 1, y: 1}}), {x: 1, y: 2});
assert.eq(computed({$objectToArray: '$a'}, {a: {x: 1, y: 'z'}}), [{k: 'x', v: 1}, {k: 'y', v: 'z'}]);
assert.eq(computed({$arrayToObject: [[['p', 1], ['q', 2]]]}), {p: 1, q: 2});
assert.eq(computed({$arrayToObject: {$map: {input: {$objectToArray: '$a'}, in: {k: '$$this.v', v: '$$this.k'}}}}, {a: {x: 'y'}}), {y: 'x'});
