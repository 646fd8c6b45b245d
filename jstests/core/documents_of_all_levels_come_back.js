// What may be stored can be read again, by a find and by an aggregate; one level more is refused.
const c = db.documents_of_all_levels_come_back;
c.drop();

function nested(levels) {
    let document = {};
    for (let level = 1; level < levels; ++level) {
        document = {a: document};
    }
    return document;
}

function levelsOf(document) {
    let levels = 1;
    for (; document.a !== undefined; document = document.a) {
        ++levels;
    }
    return levels;
}

const most = 180;
c.insertOne({_id: 1, v: nested(most - 1)});
assert.eq(most - 1, levelsOf(c.findOne({_id: 1}).v));
assert.eq(most - 1, levelsOf(c.aggregate([{$match: {}}]).toArray()[0].v));
assert.eq(most - 1, levelsOf(c.findAndModify({query: {_id: 1}, update: {$set: {w: 1}}}).v));
assert.throwsWithCode(() => c.insertOne({_id: 2, v: nested(most)}), 15);
assert.eq(1, c.countDocuments({}));
