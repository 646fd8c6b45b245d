// SPDX-License-Identifier: Apache-2.0
// What Tab offers: commands, databases, collections, methods, operators, and the fields of a few
// documents of the collection that the line is about.
'use strict';

const kOperators = ['$eq', '$ne', '$gt', '$gte', '$lt', '$lte', '$in', '$nin', '$and', '$or', '$nor', '$not', '$exists', '$type',
                    '$regex', '$expr', '$mod', '$all', '$elemMatch', '$size', '$set', '$unset', '$inc', '$mul', '$min', '$max',
                    '$rename', '$push', '$pull', '$pullAll', '$pop', '$addToSet', '$setOnInsert', '$currentDate', '$bit',
                    '$match', '$group', '$project', '$sort', '$limit', '$skip', '$unwind', '$lookup', '$addFields', '$count',
                    '$facet', '$bucket', '$bucketAuto', '$sortByCount', '$sample', '$out', '$merge', '$replaceRoot', '$unionWith',
                    '$sum', '$avg', '$first', '$last', '$addFields', '$cond', '$ifNull', '$concat', '$dateToString', '$each'];
const kSampleSize = 10;
const kNamesMax = 200;

const listNames = () => {
    try {
        return db.getCollectionNames();
    } catch (error) {
        return [];
    }
};
const databaseNames = () => {
    try {
        return db.getMongo().getDBNames();
    } catch (error) {
        return [];
    }
};
const namesOf = (object) => {
    const names = new Set();
    for (let at = object; at !== null && at !== undefined; at = Object.getPrototypeOf(at)) {
        if (at !== Object.prototype && at !== Function.prototype) {
            Object.getOwnPropertyNames(at).forEach((name) => names.add(name));
        }
    }
    return [...names].filter((name) => /^[a-zA-Z$][\w$]*$/.test(name) && name !== 'constructor');
};
const fieldsOf = (collection) => {
    const names = new Set();
    const visit = (document, prefix) => {
        for (const [name, value] of Object.entries(document)) {
            names.add(prefix + name);
            if (value !== null && typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype && !prefix) {
                visit(value, name + '.');
            }
        }
    };
    try {
        db.getCollection(collection).find().limit(kSampleSize).maxTimeMS(200).forEach((document) => visit(document, ''));
    } catch (error) {
        return [];
    }
    return [...names];
};

// The object that "db.people" or "Math" names, without calling anything.
const objectAt = (path) => {
    let at = globalThis;
    for (const name of path.split('.')) {
        if (at === null || at === undefined) {
            return undefined;
        }
        at = at[name];
    }
    return at;
};

const candidates = (line, word, path) => {
    const command = /^\s*(use|show)\s+(\S*)$/.exec(line);
    if (command !== null) {
        return command[1] === 'use' ? databaseNames() : Object.keys(library.show);
    }
    if (word.startsWith('$')) {
        return kOperators;
    }
    const call = /\bdb\.([\w.]+?)\.\w+\((?!.*\)\s*\.)[^]*$/.exec(line);
    if (call !== null && path === '' && /[{,\s"']$/.test(line.slice(0, line.length - word.length))) {
        return fieldsOf(call[1]);
    }
    if (/\)\.$/.test(line.slice(0, line.length - word.length))) {
        return namesOf(library.FindCursor.prototype);
    }
    if (path === '') {
        return /^\s*\w*$/.test(line) ? [...library.commandWords.filter((name) => /^\w/.test(name)), 'db', ...namesOf(globalThis)]
            : ['db', ...namesOf(globalThis)];
    }
    const object = objectAt(path);
    if (object instanceof library.Database) {
        return [...listNames(), ...namesOf(library.Database.prototype)];
    }
    if (object instanceof library.Collection) {
        const prefix = object.getName() + '.';
        return [...listNames().filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length)),
                ...namesOf(library.Collection.prototype)];
    }
    return namesOf(object);
};

library.complete = (line) => {
    const [, path, word] = /((?:[\w$]+\.)*)([\w$]*)$/.exec(line);
    const dotted = path.replace(/\.$/, '');
    const inCall = dotted !== '' && !/\)\.$/.test(line.slice(0, line.length - word.length));
    const all = candidates(line, word, inCall ? dotted : '');
    const found = [...new Set(all)].filter((name) => name.startsWith(word)).sort().slice(0, kNamesMax);
    return [word, ...found];
};
