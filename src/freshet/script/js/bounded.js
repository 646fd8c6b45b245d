// SPDX-License-Identifier: Apache-2.0
// The engine looks for a text in another, and cuts one into pieces, without ever asking whether it may go on; with a long text
// that takes hours, or gigabytes. So what would take more than a second or so of comparing, or more pieces than a heap has room
// for, is refused beforehand.
'use strict';

const kPatternFree = 256;
const kComparisonsMax = 2 ** 33;
const kPieceBytes = 8;
const checkSearch = (text, pattern) => {
    if (pattern.length > kPatternFree && pattern.length * text.length > kComparisonsMax) {
        throw new RangeError(`a text of ${pattern.length} characters is not looked for in one of ${text.length}`);
    }
};
const checkPieces = (text, separator) => {
    if (text.length / Math.max(separator.length, 1) * kPieceBytes > native.heapBytesMax) {
        throw new RangeError(`a text of ${text.length} characters has more pieces than there is memory for`);
    }
};

// As the engine defines what it has.
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

// Memory of typed arrays is counted when a collection comes by, and some of what they do asks nobody either: none may be larger than all
// that a script may have.
const checkBytes = (wanted, bytesOfOne) => {
    if (Number(wanted) * bytesOfOne > native.heapBytesMax) {
        throw new RangeError(`an array of ${wanted} elements has more than there is memory for`);
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
