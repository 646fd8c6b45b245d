// SPDX-License-Identifier: Apache-2.0
// When the engine searches a text in another or splits one, it never checks whether it may go on;
// with a long text that takes hours, or gigabytes. So calls that would compare for more than about
// a second, or make more pieces than the heap has room for, are refused in advance.
'use strict';

const kPatternFree = 256;
const kComparisonsMax = 2 ** 33;
const kPieceBytes = 8;
const checkSearch = (text, pattern) => {
    if (pattern.length > kPatternFree && pattern.length * text.length > kComparisonsMax) {
        throw new RangeError(`a text of ${pattern.length} characters cannot be searched for in one of ${text.length}: it would take too long`);
    }
};
const checkPieces = (text, separator) => {
    if (text.length / Math.max(separator.length, 1) * kPieceBytes > native.heapBytesMax) {
        throw new RangeError(`a text of ${text.length} characters has more pieces than fit into memory`);
    }
};

// Defined the way the engine defines its own properties.
const replace = (holder, name, value) =>
    Object.defineProperty(holder, name, {value, writable: true, configurable: true, enumerable: false});
const bound = (name, check) => {
    const original = String.prototype[name];
    const call = Function.prototype.call.bind(original);
    const made = {[name](pattern, second) {
        if (typeof pattern === 'string' && typeof this === 'string') {
            check(this, pattern);
        }
        return call(this, pattern, second);
    }}[name];
    Object.defineProperty(made, 'length', {value: original.length, configurable: true});
    replace(String.prototype, name, made);
};
['indexOf', 'lastIndexOf', 'includes', 'replace', 'replaceAll'].forEach((name) => bound(name, checkSearch));
bound('split', (text, separator) => {
    checkSearch(text, separator);
    checkPieces(text, separator);
});

// Memory of typed arrays is counted only when a collection runs, and some of their functions never
// check whether they may go on, so none may be larger than everything that a script may have.
const checkBytes = (wanted, bytesOfOne) => {
    if (Number(wanted) * bytesOfOne > native.heapBytesMax) {
        throw new RangeError(`an array of ${wanted} elements does not fit into memory`);
    }
};
const boundConstructor = (Original) => {
    const bytesOfOne = Original.BYTES_PER_ELEMENT ?? 1;
    const made = new Proxy(Original, {construct(target, words, newTarget) {
        const [first] = words;
        const isLength = typeof first === 'number' || typeof first === 'bigint';
        const isLikeArray = typeof first === 'object' && first !== null && typeof first.length === 'number';
        if (isLength || isLikeArray) {
            checkBytes(isLength ? first : first.length, bytesOfOne);
        }
        return Reflect.construct(target, words, newTarget === made ? target : newTarget);
    }});
    replace(Original.prototype, 'constructor', made);
    replace(globalThis, Original.name, made);
};
[ArrayBuffer, Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array,
    BigInt64Array, BigUint64Array].forEach(boundConstructor);
