// SPDX-License-Identifier: Apache-2.0
// The functions that scripts in a server may expect, in addition to the BSON types.
'use strict';

const same = (a, b) => a === b || bsonWoCompare({a}, {a: b}) === 0;
const sum = (values) => values.reduce((total, value) => total + value);
const average = (values) => values.length === 0 ? null : sum(values) / values.length;
const deviation = (values) => {
    const middle = average(values);
    return Math.sqrt(average(values.map((value) => (value - middle) ** 2)));
};
const contains = (values, value) => values.some((one) => same(one, value));
const unique = (values) => values.reduce(
    (kept, value) => contains(kept, value) ? kept : kept.concat([value]), []);
const toJson = (value) => EJSON.stringify(value);
const check = (condition, text) => {
    if (!condition) {
        throw new Error(text === undefined ? 'assert failed' : 'assert failed : ' + text);
    }
};

library.put(Array, {contains, unique, sum, avg: average, stdDev: deviation, tojson: toJson});
library.put(globalThis, {
    emit: host.emit,
    isString: (value) => typeof value === 'string' || value instanceof String,
    isNumber: (value) => typeof value === 'number' || value instanceof Number,
    isObject: (value) => typeof value === 'object' && value !== null,
    tojson: toJson,
    tojsononeline: toJson,
    tojsonObject: toJson,
    assert: check,
    doassert: (text) => check(false, text),
    print: () => undefined,  // a server has nowhere to print to
    printjson: () => undefined,
    printjsononeline: () => undefined,
    gc: () => undefined,
    sleep: (milliseconds) => native.sleep(milliseconds),
    version: () => host.version(),
});
library.setGlobals = (globals) => { Object.assign(globalThis, globals); };
