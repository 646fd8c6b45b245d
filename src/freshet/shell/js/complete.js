// SPDX-License-Identifier: Apache-2.0
// Tab completion: commands, databases, collections, methods, operators, and the fields of a few
// documents of the collection on the line.
'use strict';

const kOperators = `$eq $ne $gt $gte $lt $lte $in $nin $and $or $nor $not $exists $type $regex $options $expr $jsonSchema $mod $where $comment $all
$elemMatch $size $bitsAllClear $bitsAllSet $bitsAnyClear $bitsAnySet $set $unset $inc $mul $min $max $rename $push $pull $pullAll $pop
$addToSet $setOnInsert $currentDate $bit $each $position $slice $sort $natural $meta $addFields $bucket $bucketAuto $changeStream
$collStats $count $currentOp $densify $documents $facet $fill $geoNear $graphLookup $group $indexStats $limit $listSessions $lookup
$match $merge $out $planCacheStats $project $redact $replaceRoot $replaceWith $sample $setWindowFields $skip $sortByCount $unionWith
$unwind $abs $accumulator $acos $acosh $add $allElementsTrue $anyElementTrue $arrayElemAt $arrayToObject $asin $asinh $atan $atan2
$atanh $avg $binarySize $bitAnd $bitNot $bitOr $bitXor $bottom $bottomN $bsonSize $ceil $cmp $concat $concatArrays $cond $convert $cos
$cosh $dateAdd $dateDiff $dateFromParts $dateFromString $dateSubtract $dateToParts $dateToString $dateTrunc $dayOfMonth $dayOfWeek
$dayOfYear $degreesToRadians $divide $exp $filter $first $firstN $floor $function $getField $hour $ifNull $indexOfArray $indexOfBytes
$indexOfCP $isArray $isNumber $isoDayOfWeek $isoWeek $isoWeekYear $last $lastN $let $literal $ln $log $log10 $ltrim $map $maxN $median
$mergeObjects $millisecond $minN $minute $month $multiply $objectToArray $percentile $pow $radiansToDegrees $rand $range $reduce
$regexFind $regexFindAll $regexMatch $replaceAll $replaceOne $reverseArray $round $rtrim $sampleRate $second $setDifference $setEquals
$setField $setIntersection $setIsSubset $setUnion $sin $sinh $sortArray $split $sqrt $stdDevPop $stdDevSamp $strLenBytes $strLenCP
$strcasecmp $substr $substrBytes $substrCP $subtract $sum $switch $tan $tanh $toBool $toDate $toDecimal $toDouble $toInt $toLong
$toLower $toObjectId $toString $toUpper $top $topN $trim $trunc $tsIncrement $tsSecond $unsetField $week $year $zip`.split(/\s+/);
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
            library.publicNames(at).forEach((name) => names.add(name));
        }
    }
    return [...names].filter((name) => /^[a-zA-Z$][\w$]*$/.test(name));
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
    if (library.settings.disableSchemaSampling) {
        return [];
    }
    try {
        db.getCollection(collection).find().limit(kSampleSize).maxTimeMS(200).forEach((document) => visit(document, ''));
    } catch (error) {
        return [];
    }
    return [...names];
};

// The object that "db.people" or "Math" names, found without calling anything.
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

// The result type of the call at the end of the text, by the method's name.
const resultOf = (text) => {
    let depth = 0;
    let at = text.lastIndexOf(')');
    for (; at >= 0; --at) {
        depth += text[at] === ')' ? 1 : text[at] === '(' ? -1 : 0;
        if (depth === 0) {
            break;
        }
    }
    const [method] = /\w*$/.exec(text.slice(0, Math.max(at, 0)));
    const kinds = {getCollection: library.Collection, getSiblingDB: library.Database, getSisterDB: library.Database,
                   getDB: library.Database, getDatabase: library.Database, getMongo: library.Mongo, Mongo: library.Mongo,
                   startSession: library.Session, getPlanCache: library.PlanCache, aggregate: library.CommandCursor,
                   watch: library.CommandCursor, initializeOrderedBulkOp: library.Bulk, initializeUnorderedBulkOp: library.Bulk};
    return Object.hasOwn(kinds, method) ? kinds[method] : library.FindCursor;
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
    const before = line.slice(0, line.length - word.length);
    if (/\)\.$/.test(before)) {
        return namesOf(resultOf(before).prototype);
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
