// SPDX-License-Identifier: Apache-2.0
// Extended JSON version 2. Canonical text is made from the BSON, and therefore shows every type.
'use strict';

const kYear10000 = 253402300800000;

const relaxedDate = (date) => {
    const millis = date.getTime();
    if (millis >= 0 && millis < kYear10000) {
        return {$date: date.toISOString().replace('.000Z', 'Z')};
    }
    return {$date: {$numberLong: Number.isNaN(millis) ? String(date.bsonMillis) : String(millis)}};
};
const relaxedNumber = (value) => Number.isFinite(value) ? value : {$numberDouble: String(value)};

const kRelaxed = new Map([
    [ObjectId, (value) => ({$oid: value.hex})],
    [Long, (value) => Number.isSafeInteger(value.toNumber()) ? value.toNumber() : {$numberLong: value.toString()}],
    [Int32, (value) => value.value],
    [Double, (value) => relaxedNumber(value.value)],
    [Decimal128, (value) => ({$numberDecimal: value.toString()})],
    [Timestamp, (value) => ({$timestamp: {t: value.t, i: value.i}})],
    [Binary, (value) => ({$binary: {base64: value.base64(), subType: value.sub_type.toString(16).padStart(2, '0')}})],
    [BSONRegExp, (value) => ({$regularExpression: {pattern: value.pattern, options: value.options}})],
    [Code, (value) => value.scope ? {$code: value.code, $scope: relaxed(value.scope)} : {$code: value.code}],
    [BSONSymbol, (value) => ({$symbol: value.value})],
    [DBPointer, (value) => ({$dbPointer: {$ref: value.namespace, $id: relaxed(value.oid)}})],
    [MinKey, () => ({$minKey: 1})],
    [MaxKey, () => ({$maxKey: 1})],
]);
kRelaxed.set(UUID, kRelaxed.get(Binary));

function relaxed(value) {
    if (typeof value === 'number') {
        return relaxedNumber(value);
    }
    if (typeof value === 'bigint') {
        return relaxed(new Long(value));
    }
    if (typeof value !== 'object' || value === null) {
        return typeof value === 'function' ? {$code: value.toString()} : value;
    }
    const convert = kRelaxed.get(value.constructor);
    if (convert !== undefined && library.isBson(value)) {
        return convert(value);
    }
    if (value instanceof Date) {
        return relaxedDate(value);
    }
    if (value instanceof RegExp) {
        return {$regularExpression: {pattern: value.bsonPattern ?? value.source,
                                     options: value.flags.replace(/[^ims]/g, '')}};
    }
    if (Array.isArray(value)) {
        return value.map(relaxed);
    }
    if (typeof value.toBSON === 'function') {
        return relaxed(value.toBSON());
    }
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, relaxed(inner)]));
}
const canonical = (value) => value === undefined ? undefined : JSON.parse(host.canonicalJson({v: value})).v;

// Numbers that JavaScript can express are not objects.
const plain = (value) => {
    if (value instanceof Long) {
        return Number.isSafeInteger(value.toNumber()) ? value.toNumber() : value;
    }
    if (value === null || typeof value !== 'object' || library.isBson(value)) {
        return value;
    }
    for (const name of Object.keys(value)) {
        value[name] = plain(value[name]);
    }
    return value;
};

const EJSON = {
    stringify(value, replacer, space, options) {
        if (replacer !== null && typeof replacer === 'object' && !Array.isArray(replacer)) {
            options = replacer;
            replacer = undefined;
        }
        if (space !== null && typeof space === 'object') {
            options = space;
            space = undefined;
        }
        const isCanonical = options !== undefined && options.relaxed === false;
        return JSON.stringify(isCanonical ? canonical(value) : relaxed(value), replacer, space);
    },
    parse(text, options) {
        JSON.parse(text);  // reports errors as JavaScript does
        const value = host.fromJson(`{"v": ${text}}`).v;
        return options !== undefined && options.relaxed === false ? value : plain(value);
    },
    serialize(value, options) {
        return options !== undefined && options.relaxed === false ? canonical(value) : relaxed(value);
    },
    deserialize(value, options) { return EJSON.parse(JSON.stringify(value), options); },
};
library.EJSON = EJSON;
library.put(globalThis, {EJSON});
