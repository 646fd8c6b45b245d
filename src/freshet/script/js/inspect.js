// SPDX-License-Identifier: Apache-2.0
// Values as people read them, in the layout of Node's util.inspect and thus of mongosh: up to three
// levels on a line of 80, arrays of more than six short entries in columns.
'use strict';

const kLineMax = 80;
const kLevelsOnALine = 3;
const kArrayMax = 100;
const kColumnsMax = 15;
const kTextMax = 10000;
const kDepth = 6;
const kStackMax = 10;

const kColours = {number: 33, bigint: 33, boolean: 33, string: 32, undefined: 90, null: 1, special: 36,
                  date: 35, regexp: 31, symbol: 32, bson: 32, name: 0};

const kEscapes = {'\n': '\\n', '\t': '\\t', '\r': '\\r', '\b': '\\b', '\f': '\\f', '\v': '\\v', '\\': '\\\\'};
const quote = (text) => {
    const mark = !text.includes("'") ? "'" : !text.includes('"') ? '"'
        : !text.includes('`') && !text.includes('${') ? '`' : "'";
    let out = '';
    for (const unit of text) {
        const code = unit.codePointAt(0);
        if (unit === mark) {
            out += '\\' + unit;
        } else if (kEscapes[unit] !== undefined) {
            out += kEscapes[unit];
        } else if (code < 32 || code === 127 || (code >= 128 && code < 160)) {
            out += '\\x' + code.toString(16).toUpperCase().padStart(2, '0');
        } else if (code >= 0xd800 && code < 0xe000) {
            out += '\\u' + code.toString(16).toUpperCase();
        } else {
            out += unit;
        }
    }
    return mark + out + mark;
};
library.quote = quote;

// Colour codes have no width.
const widthOf = (text) => text.replace(/\u001b\[\d+m/g, '').length;

class Printer {
    constructor(options) {
        this.depth = options.depth === null ? Infinity : options.depth ?? kDepth;
        this.colors = options.colors ?? false;
        this.compact = options.compact ?? kLevelsOnALine;
        this.arrayMax = options.maxArrayLength === null ? Infinity : options.maxArrayLength ?? kArrayMax;
        this.textMax = options.maxStringLength === null ? Infinity : options.maxStringLength ?? kTextMax;
        this.lineMax = options.breakLength ?? kLineMax;
        this.indent = 0;
        this.lastLevel = 0;  // of the object begun last
        this.seen = [];
    }

    paint(text, kind) {
        const colour = kColours[kind];
        return this.colors && colour ? `\u001b[${colour}m${text}\u001b[${colour === 1 ? 22 : 39}m` : text;
    }

    value(value, level, alone = false) {
        switch (typeof value) {
            case 'string':
                return this.text(value, level);
            case 'number':
                return this.paint(Object.is(value, -0) ? '-0' : String(value), 'number');
            case 'bigint':
                return this.paint(value + 'n', 'bigint');
            case 'boolean':
                return this.paint(String(value), 'boolean');
            case 'undefined':
                return this.paint('undefined', 'undefined');
            case 'symbol':
                return this.paint(value.toString(), 'symbol');
            case 'function':
                return this.callable(value, level);
            default:
                return value === null ? this.paint('null', 'null') : this.object(value, level, alone);
        }
    }

    text(value, level) {
        let rest = '';
        if (value.length > this.textMax) {
            rest = `... ${value.length - this.textMax} more characters`;
            value = value.slice(0, this.textMax);
        }
        // A long text inside an object continues on further lines, as in Node.
        if (level > 0 && value.length > 16 && value.length > this.lineMax - this.indent - 4 && value.includes('\n')) {
            return value.split(/(?<=\n)/).map((line) => this.paint(quote(line), 'string'))
                .join(` +\n${' '.repeat(this.indent + 2)}`) + rest;
        }
        return this.paint(quote(value), 'string') + rest;
    }

    callable(value, level) {
        const source = Function.prototype.toString.call(value);
        if (source.startsWith('class')) {
            const parent = Object.getPrototypeOf(value);
            return this.paint(`[class ${value.name || '(anonymous)'}${parent && parent.name ? ' extends ' + parent.name : ''}]`,
                              'special');
        }
        const kind = {}.toString.call(value).slice(8, -1);
        const base = `[${kind}${value.name ? ': ' + value.name : ' (anonymous)'}]`;
        const keys = Object.keys(value);
        return keys.length === 0 ? this.paint(base, 'special') : this.members(value, level, keys, '{', '}', base);
    }

    object(value, level, alone) {
        if (value instanceof Date) {
            return Number.isNaN(value.getTime()) ? this.paint('Invalid Date', 'date')
                : this.paint(`ISODate(${quote(value.toISOString())})`, 'date');
        }
        if (value instanceof RegExp) {
            return this.paint(RegExp.prototype.toString.call(value), 'regexp');
        }
        if (this.seen.includes(value)) {
            return this.paint('[Circular *1]', 'special');
        }
        const own = value[library.kInspect];
        if (typeof own === 'function') {
            return String(own.call(value, this, level));
        }
        if (library.isBson(value) && typeof value.inspect === 'function') {
            return this.paint(value.inspect((inner) => this.value(inner, level + 1)), 'bson');
        }
        if (value instanceof Error) {
            return this.error(value, level, alone);
        }
        if (level > this.depth) {
            return this.paint(Array.isArray(value) ? '[Array]' : `[${this.className(value) || 'Object'}]`, 'special');
        }
        return this.container(value, level);
    }

    container(value, level) {
        const keys = Object.keys(value);
        if (Array.isArray(value)) {
            return this.array(value, level, keys);
        }
        if (value instanceof Number || value instanceof String || value instanceof Boolean) {
            return this.paint(`[${value.constructor.name}: ${this.value(value.valueOf(), level)}]`, 'special');
        }
        if (value instanceof Map) {
            return this.listed(value, level, `Map(${value.size}) `, () => Array.from(
                value, ([key, inner]) => `${this.value(key, level + 1)} => ${this.value(inner, level + 1)}`));
        }
        if (value instanceof Set) {
            return this.listed(value, level, `Set(${value.size}) `,
                               () => Array.from(value, (inner) => this.value(inner, level + 1)));
        }
        if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
            return this.typed(value, level);
        }
        if (native.promiseState(value) !== undefined) {
            const state = native.promiseState(value);
            const inside = state === 0 ? '<pending>' : this.value(native.promiseResult(value), level + 1);
            return `Promise { ${state === 2 ? '<rejected> ' : ''}${inside} }`;
        }
        const name = this.className(value);
        const prefix = name === 'Object' ? '' : name === '' ? '[Object: null prototype] ' : name + ' ';
        return this.members(value, level, keys, prefix + '{', '}', '');
    }

    className(value) {
        const prototype = Object.getPrototypeOf(value);
        if (prototype === null) {
            return '';
        }
        return prototype.constructor && prototype.constructor.name || 'Object';
    }

    error(value, level, alone) {
        const places = alone ? library.stackOf(value) : '';
        const stack = places === '' ? '' : '\n' + places;
        const base = library.errorText(value) + stack;
        const keys = Object.keys(value).filter((key) => !['name', 'message', 'stack'].includes(key));
        const text = alone || level === 0 ? base : `[${base}]`;
        return keys.length === 0 ? text : this.members(value, level, keys, '{', '}', text);
    }

    // While the entries are made, this object counts as the one being printed.
    inside(value, level, make) {
        this.seen.push(value);
        this.lastLevel = level;
        this.indent += 2;
        try {
            return make();
        } finally {
            this.indent -= 2;
            this.seen.pop();
        }
    }

    members(value, level, keys, open, close, base) {
        if (keys.length === 0) {
            return base || `${open}${close}`;
        }
        const entries = this.inside(value, level, () => keys.map((key) => this.member(value, key, level)));
        return this.layOut(entries, level, open, close, base);
    }

    member(value, key, level) {
        const name = /^[a-zA-Z_][a-zA-Z_0-9]*$/.test(key) ? key : this.paint(quote(key), 'string');
        const descriptor = Object.getOwnPropertyDescriptor(value, key);
        if (descriptor !== undefined && descriptor.get !== undefined) {
            return `${name}: ${this.paint(descriptor.set ? '[Getter/Setter]' : '[Getter]', 'special')}`;
        }
        return `${name}: ${this.value(value[key], level + 1)}`;
    }

    array(value, level, keys) {
        const named = keys.filter((key) => !/^\d+$/.test(key));
        if (value.length === 0 && named.length === 0) {
            return '[]';
        }
        const entries = this.inside(value, level, () => this.elements(value, level, keys));
        const more = value.length > this.arrayMax;
        const grouped = this.compact >= 1 && entries.length > 6 && named.length === 0
            ? this.columns(entries, more, value) : entries;
        return this.layOut(grouped, level, '[', ']', '', entries.length === grouped.length);
    }

    elements(value, level, keys) {
        const out = [];
        let gap = 0;
        const closeGap = () => {
            if (gap > 0) {
                out.push(this.paint(`<${gap} empty item${gap > 1 ? 's' : ''}>`, 'undefined'));
            }
            gap = 0;
        };
        const end = Math.min(value.length, this.arrayMax);
        for (let at = 0; at < end; ++at) {
            if (at in value) {
                closeGap();
                out.push(this.value(value[at], level + 1));
            } else {
                ++gap;
            }
        }
        closeGap();
        if (value.length > end) {
            const left = value.length - end;
            out.push(`... ${left} more item${left > 1 ? 's' : ''}`);
        }
        for (const key of keys) {
            if (!/^\d+$/.test(key)) {
                out.push(this.member(value, key, level));
            }
        }
        return out;
    }

    typed(value, level) {
        const entries = Array.from(value.subarray(0, this.arrayMax), (each) => this.value(each, level + 1));
        if (value.length > this.arrayMax) {
            entries.push(`... ${value.length - this.arrayMax} more items`);
        }
        const prefix = `${value.constructor.name}(${value.length}) [`;
        if (entries.length === 0) {
            return prefix + ']';
        }
        this.lastLevel = level;
        const grouped = entries.length > 6 ? this.columns(entries, value.length > this.arrayMax, value) : entries;
        return this.layOut(grouped, level, prefix, ']', '', grouped.length === entries.length);
    }

    listed(value, level, prefix, make) {
        const entries = this.inside(value, level, make);
        return entries.length === 0 ? `${prefix}{}` : this.layOut(entries, level, prefix + '{', '}', '');
    }

    // Short entries of a long array, in columns of one width each.
    columns(entries, more, value) {
        const count = more ? entries.length - 1 : entries.length;
        const gap = 2;
        const widths = entries.slice(0, count).map((entry) => widthOf(entry) + gap);
        const widest = Math.max(...widths);
        const total = widths.reduce((sum, width) => sum + width, 0);
        if (widest * 3 + this.indent >= this.lineMax || !(total / widest > 5 || widest <= 8)) {
            return entries;
        }
        const typical = Math.max(widest - 3 - Math.sqrt(widest - total / entries.length), 1);
        const columns = Math.min(Math.round(Math.sqrt(2.5 * typical * count) / typical),
                                 Math.floor((this.lineMax - this.indent) / widest), this.compact * 4, kColumnsMax);
        if (columns <= 1) {
            return entries;
        }
        const room = [];
        for (let column = 0; column < columns; ++column) {
            let width = 0;
            for (let at = column; at < count; at += columns) {
                width = Math.max(width, widths[at]);
            }
            room.push(width);
        }
        const numbers = Array.prototype.every.call(
            value, (each) => typeof each === 'number' || typeof each === 'bigint');
        const lines = [];
        for (let from = 0; from < count; from += columns) {
            const to = Math.min(from + columns, count);
            let line = '';
            for (let at = from; at < to; ++at) {
                const cell = at + 1 < to || numbers ? room[at - from] : 0;
                const entry = at + 1 < to ? entries[at] + ', ' : entries[at];
                const want = at + 1 < to ? cell : cell - gap;
                const padding = ' '.repeat(Math.max(0, want - widthOf(entry)));
                line += numbers ? padding + entry : entry + padding;
            }
            lines.push(numbers ? line : line.trimEnd());
        }
        return more ? [...lines, entries[count]] : lines;
    }

    layOut(entries, level, open, close, base, mayJoin = true) {
        const front = base === '' ? '' : base + ' ';
        if (this.compact >= 1 && this.lastLevel - level < this.compact && mayJoin) {
            const start = entries.length + this.indent + open.length + base.length + 10;
            const total = entries.reduce((sum, entry) => sum + widthOf(entry) + 1, 0);
            const joined = entries.join(', ');
            if (total + start <= this.lineMax && !base.includes('\n') && !joined.includes('\n')) {
                return `${front}${open} ${joined} ${close}`;
            }
        }
        const margin = '\n' + ' '.repeat(this.indent);
        return `${front}${open}${margin}  ${entries.join(',' + margin + '  ')}${margin}${close}`;
    }
}

library.kInspect = Symbol('freshet.inspect');
library.errorText = (error) => {
    const name = error.name || 'Error';
    const code = error.codeName ? `[${error.codeName}]` : error.code !== undefined ? `[${error.code}]` : '';
    return name.startsWith('Mongo') && code ? `${name}${code}: ${error.message}`
        : error.message ? `${name}: ${error.message}` : name;
};
// The stack of an error, without this library's own frames.
library.stackOf = (error) => String(error.stack).split('\n').filter((line) => line !== '' && !line.includes('@freshet:'))
    .slice(0, kStackMax).map((line) => '    at ' + line.replace(/^@/, '')).join('\n');
library.inspect = (value, options = {}) => new Printer(options).value(value, 0, options.alone);
// A text as it is, anything else as inspect() shows it.
library.display = (value, options) => typeof value === 'string' ? value : library.inspect(value, options);
