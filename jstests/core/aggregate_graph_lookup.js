// SPDX-License-Identifier: Apache-2.0
// $graphLookup follows references as deep as it is told.
db.staff.insertMany([{_id: 'ann'}, {_id: 'bob', boss: 'ann'}, {_id: 'cay', boss: 'bob'}, {_id: 'dan', boss: 'cay'}]);
const above = (name, rest) => db.staff.aggregate([{$match: {_id: name}}, {$graphLookup: {
    from: 'staff', startWith: '$boss', connectFromField: 'boss', connectToField: '_id', as: 'above', ...rest}}]).toArray()[0].above;
assert.sameMembers(above('dan').map((person) => person._id), ['ann', 'bob', 'cay']);
assert.sameMembers(above('dan', {maxDepth: 1, depthField: 'far'}).map(({_id, far}) => [_id, Number(far)]), [['cay', 0], ['bob', 1]]);
assert.sameMembers(above('dan', {restrictSearchWithMatch: {_id: {$ne: 'bob'}}}).map((person) => person._id), ['cay']);
