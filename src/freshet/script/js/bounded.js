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
    Object.defineProperty(String.prototype, name, {value: made, writable: true, configurable: true, enumerable: false});
};
['indexOf', 'lastIndexOf', 'includes', 'replace', 'replaceAll'].forEach((name) => bound(name, checkSearch));
bound('split', (text, separator) => {
    checkSearch(text, separator);
    checkPieces(text, separator);
});
