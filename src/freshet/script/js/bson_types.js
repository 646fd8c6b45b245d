// SPDX-License-Identifier: Apache-2.0
// The BSON types that JavaScript does not have, under the names of mongosh and of the older shell.
// spider/to_js.cpp and spider/from_js.cpp read and write the objects' fields.
'use strict';

const fail = (text) => {
    throw new TypeError(text);
};
// Fields that exist but are not enumerable, so that a loop over a document's values does not meet
// them.
const put = (object, fields) => {
    for (const [name, value] of Object.entries(fields)) {
        Object.defineProperty(object, name, {value, writable: true, configurable: true});
    }
    return object;
};
// Further names for methods: {name: the method's name}.
const alias = (methods, names) => Object.assign(methods, Object.fromEntries(
    Object.entries(names).map(([name, of]) => [name, methods[of]])));
// Gives the class non-enumerable methods and makes it a global.
const define = (constructor, methods) => {
    Object.defineProperties(constructor.prototype, Object.fromEntries(
        Object.entries(Object.getOwnPropertyDescriptors(methods))
            .map(([name, descriptor]) => [name, {...descriptor, enumerable: false}])));
    put(globalThis, {[constructor.name]: constructor});
};
const quoted = (text) => library.quote(String(text));
// The text, if the value is one: a constructor that needs a text accepts nothing else.
const textOf = (value, what) => typeof value === 'string' || value instanceof String ? String(value)
    : fail(`${what} must be a string, not ${value === null ? 'null' : typeof value}`);
const kUint32Max = 4294967295;

// Base 64

const kDigits64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const toBase64 = (bytes) => {
    let text = '';
    for (let at = 0; at < bytes.length; at += 3) {
        const word = (bytes[at] << 16) | ((bytes[at + 1] || 0) << 8) | (bytes[at + 2] || 0);
        text += kDigits64[word >> 18] + kDigits64[(word >> 12) & 63] +
            (at + 1 < bytes.length ? kDigits64[(word >> 6) & 63] : '=') +
            (at + 2 < bytes.length ? kDigits64[word & 63] : '=');
    }
    return text;
};
const fromBase64 = (text) => {
    const digits = textOf(text, 'base 64').replace(/[\s=]/g, '').replace(/-/g, '+').replace(/_/g, '/');
    if (digits.length % 4 === 1) {
        fail('this is not base 64: ' + text);
    }
    const bytes = new Uint8Array(Math.floor(digits.length * 3 / 4));
    let word = 0;
    let bits = 0;
    let end = 0;
    for (const digit of digits) {
        const value = kDigits64.indexOf(digit);
        if (value < 0) {
            fail('this is not base 64: ' + text);
        }
        word = ((word << 6) | value) & 0xffffff;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            bytes[end++] = (word >> bits) & 255;
        }
    }
    return bytes;
};
const toHex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
const fromHex = (text) => {
    if (!/^([0-9a-f]{2})*$/i.test(textOf(text, 'hexadecimal'))) {
        fail('this is not hexadecimal: ' + text);
    }
    return Uint8Array.from(text.match(/../g) || [], (pair) => parseInt(pair, 16));
};

// ObjectId

function ObjectId(value) {
    if (!new.target) {
        return new ObjectId(value);
    }
    if (value === undefined || value === null) {
        put(this, {hex: host.newObjectId().hex});
    } else if (value instanceof ObjectId) {
        put(this, {hex: value.hex});
    } else if (typeof value === 'number') {
        put(this, {hex: (value >>> 0).toString(16).padStart(8, '0') + host.newObjectId().hex.slice(8)});
    } else if (value instanceof Uint8Array && value.length === 12) {
        put(this, {hex: toHex(value)});
    } else if (/^[0-9a-f]{24}$/i.test(value)) {
        put(this, {hex: String(value).toLowerCase()});
    } else {
        throw Object.assign(new TypeError('input must be a 24 character hex string, 12 byte Uint8Array, or an integer'),
                            {name: 'BSONError'});
    }
}
define(ObjectId, {
    get str() { return this.hex; },
    toHexString() { return this.hex; },
    toString() { return this.hex; },
    toJSON() { return this.hex; },
    valueOf() { return this; },
    equals(other) { return other instanceof ObjectId ? other.hex === this.hex : String(other) === this.hex; },
    getTimestamp() { return new Date(parseInt(this.hex.slice(0, 8), 16) * 1000); },
    inspect() { return `ObjectId(${quoted(this.hex)})`; },
});
put(ObjectId, {
    isValid: (value) => value instanceof ObjectId || typeof value === 'number' || /^[0-9a-f]{24}$/i.test(value),
    createFromHexString: (text) => new ObjectId(text),
    createFromTime: (seconds) => new ObjectId((seconds >>> 0).toString(16).padStart(8, '0') + '0'.repeat(16)),
    createFromBase64: (text) => new ObjectId(fromBase64(text)),
    generate: () => new ObjectId(),
});
put(globalThis, {ObjectID: ObjectId});

// Numbers

const kLongMin = -(2n ** 63n);
const kLongMax = 2n ** 63n - 1n;
// The number of a number, of an object that represents one, or of digits.
const numberOf = (value) => {
    const plain = value === undefined || value === null ? value : value.valueOf();
    const number = typeof plain === 'bigint' || (typeof plain === 'string' && plain.trim() !== '') ? Number(plain) : plain;
    if (typeof number !== 'number' || (Number.isNaN(number) && typeof plain === 'string' && plain !== 'NaN')) {
        fail('this is not a number: ' + (plain === '' ? "''" : value));
    }
    return number;
};
const toBig = (value) => {
    if (value instanceof Long || value instanceof Timestamp) {
        return value.toBigInt();
    }
    if (typeof value === 'bigint') {
        return value;
    }
    if (typeof value === 'string') {
        if (!/^\s*[-+]?\d+\s*$/.test(value)) {
            fail('this is not a whole number: ' + value);
        }
        return BigInt(value.replace('+', ''));
    }
    const number = Math.trunc(numberOf(value));
    if (Math.abs(number) === Infinity) {
        fail(number + ' does not fit into 64 bits');
    }
    return Number.isNaN(number) ? 0n : BigInt(number);
};
// The whole number that the digits represent in a base up to 36.
const fromDigits = (text, base) => {
    const [, sign, digits] = /^([-+]?)([0-9a-z]+)$/i.exec(textOf(text, 'a number')) || fail('this is not a whole number: ' + text);
    const value = [...digits].reduce((sum, digit) => {
        const worth = parseInt(digit, base);
        return Number.isNaN(worth) ? fail(`this is not a whole number of base ${base}: ${text}`) : sum * BigInt(base) + BigInt(worth);
    }, 0n);
    return sign === '-' ? -value : value;
};

function Long(low, high) {
    if (!new.target) {
        return new Long(low, high);
    }
    if (typeof low === 'number' && typeof high === 'number') {
        put(this, {high: high | 0, low: low | 0});
        return;
    }
    const value = toBig(low === undefined ? 0 : low);
    if (value < kLongMin || value > kLongMax) {
        fail(value + ' does not fit into 64 bits');
    }
    put(this, {high: Number(BigInt.asIntN(32, value >> 32n)), low: Number(BigInt.asIntN(32, value))});
}
const wrapped = (value) => new Long(BigInt.asIntN(64, value));
const bitsOf = (count) => BigInt(numberOf(count) & 63);
const kComparisons = alias({
    compare(other) {
        const a = this.toBigInt();
        const b = toBig(other);
        return a < b ? -1 : a > b ? 1 : 0;
    },
    lessThan(other) { return this.compare(other) < 0; },
    lessThanOrEqual(other) { return this.compare(other) <= 0; },
    greaterThan(other) { return this.compare(other) > 0; },
    greaterThanOrEqual(other) { return this.compare(other) >= 0; },
    notEquals(other) { return !this.equals(other); },
}, {comp: 'compare', lt: 'lessThan', lte: 'lessThanOrEqual', le: 'lessThanOrEqual', gt: 'greaterThan', gte: 'greaterThanOrEqual',
    ge: 'greaterThanOrEqual', neq: 'notEquals', ne: 'notEquals'});
define(Long, alias({
    ...kComparisons,
    toBigInt() { return (BigInt(this.high) << 32n) | BigInt(this.low >>> 0); },
    toNumber() { return this.high * 4294967296 + (this.low >>> 0); },
    toInt() { return this.low; },
    toString(base) { return this.toBigInt().toString(base); },
    toJSON() { return {high: this.high, low: this.low, unsigned: false}; },
    valueOf() { return this.toNumber(); },
    get unsigned() { return false; },
    get floatApprox() { return this.toNumber(); },
    get top() { return this.high; },
    get bottom() { return this.low >>> 0; },
    getHighBits() { return this.high; },
    getHighBitsUnsigned() { return this.high >>> 0; },
    getLowBits() { return this.low; },
    getLowBitsUnsigned() { return this.low >>> 0; },
    add(other) { return wrapped(this.toBigInt() + toBig(other)); },
    subtract(other) { return wrapped(this.toBigInt() - toBig(other)); },
    multiply(other) { return wrapped(this.toBigInt() * toBig(other)); },
    divide(other) { return wrapped(this.toBigInt() / toBig(other)); },
    modulo(other) { return wrapped(this.toBigInt() % toBig(other)); },
    and(other) { return wrapped(this.toBigInt() & toBig(other)); },
    or(other) { return wrapped(this.toBigInt() | toBig(other)); },
    xor(other) { return wrapped(this.toBigInt() ^ toBig(other)); },
    not() { return wrapped(~this.toBigInt()); },
    negate() { return wrapped(-this.toBigInt()); },
    shiftLeft(bits) { return wrapped(this.toBigInt() << bitsOf(bits)); },
    shiftRight(bits) { return wrapped(this.toBigInt() >> bitsOf(bits)); },
    shiftRightUnsigned(bits) { return wrapped(BigInt.asUintN(64, this.toBigInt()) >> bitsOf(bits)); },
    equals(other) { return this.compare(other) === 0; },
    isZero() { return this.high === 0 && this.low === 0; },
    isNegative() { return this.high < 0; },
    isPositive() { return this.high >= 0; },
    isOdd() { return (this.low & 1) === 1; },
    isEven() { return (this.low & 1) === 0; },
    inspect() { return `Long(${quoted(this.toString())})`; },
}, {sub: 'subtract', mul: 'multiply', div: 'divide', mod: 'modulo', rem: 'modulo', neg: 'negate', shl: 'shiftLeft',
    shr: 'shiftRight', shru: 'shiftRightUnsigned', shr_u: 'shiftRightUnsigned', eq: 'equals', eqz: 'isZero'}));
put(Long, {
    // fromString(text, base) or, as in js-bson, fromString(text, unsigned, base).
    fromString: (text, unsigned, base) => new Long(fromDigits(text, [unsigned, base].find(Number.isInteger) || 10)),
    fromNumber: (number) => new Long(number),
    fromInt: (number) => new Long(number),
    fromBits: (low, high) => new Long(low, high),
    fromBigInt: (value) => new Long(value),
    fromValue: (value) => new Long(value),
    isLong: (value) => value instanceof Long,
    MAX_VALUE: new Long(kLongMax),
    MIN_VALUE: new Long(kLongMin),
    ZERO: new Long(0),
    UZERO: new Long(0),
    ONE: new Long(1),
    UONE: new Long(1),
    NEG_ONE: new Long(-1),
});

function Int32(value) {
    if (!new.target) {
        return new Int32(value);
    }
    const number = value === undefined ? 0 : numberOf(value);
    if (!Number.isFinite(number)) {
        fail('this is not a number: ' + value);
    }
    put(this, {value: number | 0});
}
function Double(value) {
    if (!new.target) {
        return new Double(value);
    }
    put(this, {value: value === undefined ? 0 : numberOf(value)});
}
for (const type of [Int32, Double]) {
    define(type, {
        valueOf() { return this.value; },
        toNumber() { return this.value; },
        toString(base) { return this.value.toString(base); },
        toJSON() { return this.value; },
        inspect() { return `${type.name}(${Object.is(this.value, -0) ? '-0' : this.value})`; },
    });
}

function Decimal128(value) {
    if (!new.target) {
        return new Decimal128(value);
    }
    const text = value === undefined ? '0' : value instanceof Decimal128 ? value.toString() : String(value);
    put(this, {bits: host.decimalOf(text).bits});
}
define(Decimal128, {
    toString() { return host.decimalText(this); },
    valueOf() { return Number(this.toString()); },
    toJSON() { return {$numberDecimal: this.toString()}; },
    equals(other) { return library.compare(this, other) === 0; },
    inspect() { return `Decimal128(${quoted(this.toString())})`; },
});
put(Decimal128, {fromString: (text) => new Decimal128(text)});

put(globalThis, {
    NumberLong: function NumberLong(low, high) {
        return new Long(low === undefined ? 0 : low, high);
    },
    NumberInt: function NumberInt(value) {
        return new Int32(value);
    },
    NumberDecimal: function NumberDecimal(value) {
        return new Decimal128(value);
    },
});
NumberLong.prototype = Long.prototype;
NumberInt.prototype = Int32.prototype;
NumberDecimal.prototype = Decimal128.prototype;
put(NumberLong, {MAX_VALUE: Long.MAX_VALUE, MIN_VALUE: Long.MIN_VALUE});

// Time

function Timestamp(t, i) {
    if (!new.target) {
        return new Timestamp(t, i);
    }
    if (t instanceof Long || typeof t === 'bigint') {
        const {high, low} = new Long(t);
        put(this, {t: high >>> 0, i: low >>> 0});
    } else if (typeof t === 'object' && t !== null && 't' in t) {
        put(this, {t: timestampPart(t.t, 't'), i: timestampPart(t.i, 'i')});
    } else {
        put(this, {t: timestampPart(t === undefined ? 0 : t, 't'), i: timestampPart(i === undefined ? 0 : i, 'i')});
    }
}
const timestampPart = (value, name) => {
    const number = typeof value === 'string' ? NaN : Math.trunc(numberOf(value));
    return number >= 0 && number <= kUint32Max ? number
        : fail(`the ${name} of a Timestamp must be a number from 0 to ${kUint32Max}, not ${value}`);
};
define(Timestamp, alias({
    ...kComparisons,
    get high() { return this.t | 0; },
    get low() { return this.i | 0; },
    getTime() { return this.t; },
    getInc() { return this.i; },
    getHighBits() { return this.high; },
    getHighBitsUnsigned() { return this.t; },
    getLowBits() { return this.low; },
    getLowBitsUnsigned() { return this.i; },
    toBigInt() { return (BigInt(this.t) << 32n) | BigInt(this.i); },
    toNumber() { return this.t * 4294967296 + this.i; },
    toString() { return this.toBigInt().toString(); },
    toJSON() { return {$timestamp: this.toString()}; },
    equals(other) { return other instanceof Timestamp && other.t === this.t && other.i === this.i; },
    inspect() { return `Timestamp({ t: ${this.t}, i: ${this.i} })`; },
}, {eq: 'equals'}));

put(globalThis, {
    ISODate(text) {
        if (text === undefined) {
            return new Date();
        }
        const match = /^(\d{4})-?(\d{2})-?(\d{2})([T ](\d{2})(:?(\d{2})(:?(\d{2})(\.\d+)?)?)?(Z|([+-])(\d{2}):?(\d{2})?)?)?$/
            .exec(text);
        const date = match === null ? new Date(NaN) : new Date(Date.UTC(0, 0));
        if (match !== null) {
            const [, year, month, day, , hour, , minute, , second, fraction, , sign, zoneHour, zoneMinute] = match;
            date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
            const isThere = date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day) &&
                Number(hour || 0) * 60 + Number(minute || 0) <= 24 * 60 && Number(minute || 0) < 60 && Number(second || 0) < 60;
            date.setUTCHours(Number(hour || 0), Number(minute || 0), Number(second || 0),
                             Math.floor(Number(fraction || 0) * 1000));
            const zone = (Number(zoneHour || 0) * 60 + Number(zoneMinute || 0)) * 60000;
            date.setTime(isThere ? date.getTime() + (sign === '-' ? zone : -zone) : NaN);
        }
        if (Number.isNaN(date.getTime())) {
            throw new Error(`${JSON.stringify(text)} is not a valid ISODate`);
        }
        return date;
    },
});

// Bytes

function Binary(bytes, subtype) {
    if (!new.target) {
        return new Binary(bytes, subtype);
    }
    let buffer = new Uint8Array(0);
    if (bytes instanceof Uint8Array) {
        buffer = bytes;
    } else if (typeof bytes === 'string') {
        buffer = Uint8Array.from(unescape(encodeURIComponent(bytes)), (c) => c.charCodeAt(0));
    } else if (Array.isArray(bytes) || bytes instanceof ArrayBuffer) {
        buffer = Uint8Array.from(Array.isArray(bytes) ? bytes : new Uint8Array(bytes));
    } else if (bytes !== undefined && bytes !== null) {
        fail('a Binary is made of a Uint8Array, a list of numbers or a string');
    }
    const type = subtype === undefined ? 0 : numberOf(subtype);
    if (!(type >= 0 && type <= 255)) {
        fail('the type of a Binary must be a number from 0 to 255, not ' + subtype);
    }
    put(this, {sub_type: Math.trunc(type), buffer});
}
const uuidText = (binary) => toHex(binary.buffer).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
define(Binary, {
    get subtype() { return this.sub_type; },
    get position() { return this.buffer.length; },
    type() { return this.sub_type; },
    length() { return this.buffer.length; },
    len() { return this.buffer.length; },
    value() { return decodeURIComponent(escape(String.fromCharCode(...this.buffer))); },
    hex() { return toHex(this.buffer); },
    base64() { return toBase64(this.buffer); },
    toString(encoding) {
        return encoding === 'hex' ? this.hex() : encoding === 'base64' ? this.base64() : this.value();
    },
    toJSON() { return this.base64(); },
    toUUID() { return new UUID(this.hex()); },
    equals(other) { return library.compare(this, other) === 0; },
    inspect() {
        if (this.sub_type === 4 && this.buffer.length === 16) {
            return `UUID(${quoted(uuidText(this))})`;
        }
        if (this.sub_type === 5 && this.buffer.length === 16) {
            return `MD5(${quoted(this.hex())})`;
        }
        return `Binary.createFromBase64(${quoted(this.base64())}, ${this.sub_type})`;
    },
});
put(Binary, {
    createFromBase64: (text, subtype) => new Binary(fromBase64(text), subtype),
    createFromHexString: (text, subtype) => new Binary(fromHex(text), subtype),
});

function UUID(value) {
    if (!new.target) {
        return new UUID(value);
    }
    let buffer;
    if (value === undefined) {
        buffer = host.newUuid().buffer;
    } else if (value instanceof Binary) {
        buffer = value.buffer;
    } else {
        buffer = value instanceof Uint8Array ? value : fromHex(textOf(value, 'a UUID').replace(/-/g, ''));
    }
    if (buffer.length !== 16) {
        fail('a UUID has 16 bytes');
    }
    put(this, {sub_type: 4, buffer});
}
UUID.prototype = Object.create(Binary.prototype);
UUID.prototype.constructor = UUID;
define(UUID, {
    constructor: UUID,
    toString(encoding) { return encoding === undefined ? uuidText(this) : Binary.prototype.toString.call(this, encoding); },
    toHexString() { return uuidText(this); },
    toJSON() { return uuidText(this); },
});
const reordered = (text, order) => {
    const bytes = fromHex(textOf(text, 'a UUID').replace(/[{}-]/g, ''));
    if (bytes.length !== 16) {
        fail('a UUID has 16 bytes');
    }
    return new Binary(Uint8Array.from(order, (at) => bytes[at]), 3);
};
// Further names for a Binary: callable with or without `new`, and `instanceof` holds.
const otherNames = (makers) => Object.fromEntries(Object.entries(makers).map(([name, make]) => {
    const made = function(...values) { return make(...values); };
    made.prototype = Binary.prototype;
    return [name, made];
}));
put(globalThis, otherNames({
    BinData: (subtype, text) => new Binary(fromBase64(text), numberOf(subtype)),
    HexData: (subtype, text) => new Binary(fromHex(text), numberOf(subtype)),
    MD5: (text) => new Binary(fromHex(text), 5),
    LegacyJavaUUID: (text) => reordered(text, [7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8]),
    LegacyCSharpUUID: (text) => reordered(text, [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15]),
    LegacyPythonUUID: (text) => reordered(text, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]),
}));

// The remaining types.

function BSONRegExp(pattern, options) {
    if (!new.target) {
        return new BSONRegExp(pattern, options);
    }
    const letters = [...(options || '')];
    const wrong = letters.find((letter) => !'ilmsux'.includes(letter));
    if (wrong !== undefined) {
        fail(`a regular expression has no option ${quoted(wrong)}`);
    }
    put(this, {pattern: textOf(pattern, 'a pattern'), options: letters.sort().join('')});
}
define(BSONRegExp, {
    toString() { return `/${this.pattern}/${this.options}`; },
    toJSON() { return {pattern: this.pattern, options: this.options}; },
    inspect() { return `BSONRegExp(${quoted(this.pattern)}, ${quoted(this.options)})`; },
});

function Code(code, scope) {
    if (!new.target) {
        return new Code(code, scope);
    }
    if (scope !== undefined && typeof scope !== 'object') {
        fail('the scope of Code must be an object');
    }
    const text = typeof code === 'function' ? code.toString() : textOf(code === undefined ? '' : code, 'Code');
    put(this, {code: text, scope: scope || undefined});
}
define(Code, {
    toString() { return this.code; },
    toJSON() { return this.scope ? {code: this.code, scope: this.scope} : {code: this.code}; },
    inspect(nested) {
        return `Code(${quoted(this.code)}${this.scope ? ', ' + nested(this.scope) : ''})`;
    },
});

function BSONSymbol(value) {
    if (!new.target) {
        return new BSONSymbol(value);
    }
    put(this, {value: textOf(value === undefined ? '' : value, 'a symbol')});
}
define(BSONSymbol, {
    valueOf() { return this.value; },
    toString() { return this.value; },
    toJSON() { return this.value; },
    inspect() { return `BSONSymbol(${quoted(this.value)})`; },
});

function DBPointer(namespace, oid) {
    if (!new.target) {
        return new DBPointer(namespace, oid);
    }
    if (oid === undefined) {
        fail('a DBPointer needs an ObjectId');
    }
    put(this, {namespace: textOf(namespace, 'a namespace'), oid: new ObjectId(oid)});
}
define(DBPointer, {
    inspect(nested) { return `DBPointer(${quoted(this.namespace)}, ${nested(this.oid)})`; },
});

function MinKey() {
    return new.target ? undefined : new MinKey();
}
function MaxKey() {
    return new.target ? undefined : new MaxKey();
}
for (const type of [MinKey, MaxKey]) {
    define(type, {
        toJSON() { return {}; },
        inspect() { return type.name + '()'; },
    });
    put(type, {toBSON: () => type()});  // {$gt: MinKey} means {$gt: MinKey()}
}

function DBRef(collection, id, database, fields) {
    if (!new.target) {
        return new DBRef(collection, id, database, fields);
    }
    if (id === undefined) {
        fail('a DBRef needs an _id');
    }
    this.$ref = textOf(collection, 'the collection of a DBRef');
    this.$id = id;
    if (database !== undefined && database !== null && database !== '') {
        this.$db = textOf(database, 'the database of a DBRef');
    }
    Object.assign(this, fields);
}
define(DBRef, {
    get collection() { return this.$ref; },
    get oid() { return this.$id; },
    get db() { return this.$db; },
    getRef() { return this.$ref; },
    getCollection() { return this.$ref; },
    getId() { return this.$id; },
    getDb() { return this.$db; },
    inspect(nested) {
        const {$ref, $id, $db, ...fields} = this;
        const parts = [quoted($ref), nested($id)];
        if ($db !== undefined || Object.keys(fields).length > 0) {
            parts.push($db === undefined ? 'undefined' : quoted($db));
        }
        return `DBRef(${parts.join(', ')}${Object.keys(fields).length > 0 ? ', ' + nested(fields) : ''})`;
    },
});

library.put = put;
library.compare = (a, b) => host.compare(a, b);
library.toHex = toHex;
library.bsonClasses = {ObjectId, Long, Int32, Double, Decimal128, Timestamp, Binary, UUID, BSONRegExp, Code,
                       BSONSymbol, DBPointer, MinKey, MaxKey, DBRef};
library.isBson = (value) => Object.values(library.bsonClasses).some((type) => value instanceof type);
put(globalThis, {
    bsonWoCompare: (a, b) => host.compare(a, b),
    bsonsize: (document) => host.bsonSize(document),
});
put(Object, {bsonsize: (document) => host.bsonSize(document)});
put(globalThis, {bsonUnorderedFieldsCompare: (a, b) => host.compare(library.sorted(a), library.sorted(b))});
// The same document with its fields, and those of all documents inside, sorted by name.
library.sorted = (value) => {
    if (Array.isArray(value)) {
        return value.map(library.sorted);
    }
    if (value === null || typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype) {
        return value;
    }
    return Object.fromEntries(Object.keys(value).sort().map((name) => [name, library.sorted(value[name])]));
};
