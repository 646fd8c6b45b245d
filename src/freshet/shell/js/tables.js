// SPDX-License-Identifier: Apache-2.0
// Documents as a table of text, and as comma-separated values.
'use strict';

const kCellMax = 60;
const columnsOf = (documents) => [...new Set(documents.flatMap((document) => Object.keys(document)))];
const cellOf = (value) => value === undefined ? '' : library.display(value, {compact: Infinity, breakLength: Infinity})
    .replace(/\s*\n\s*/g, ' ');

// `widths` made smaller, the largest ones first, until the columns have room for `room` letters.
const kCellMin = 8;
const fitted = (widths, room) => {
    const out = [...widths];
    for (let over = out.reduce((sum, width) => sum + width + 2, -2) - room; over > 0; --over) {
        --out[out.indexOf(Math.max(...out))];
    }
    return out;
};
// A row on its side: a line for each column. For tables that would not fit.
const sideways = (columns, rows, room) => {
    const names = Math.max(...columns.map((name) => name.length));
    const cut = (text) => text.length > room - names - 2 ? text.slice(0, Math.max(1, room - names - 3)) + '\u2026' : text;
    return rows.map((row, at) => [`-- ${at + 1} --`, ...columns.map((name, of) => `${name.padEnd(names)}  ${cut(row[of])}`)].join('\n'))
        .join('\n');
};

// `room`: of a line; 0: as much as is wanted.
library.tableOf = (documents, room = host.terminalColumns()) => {
    const columns = columnsOf(documents);
    const cut = (text, max, mark) => text.length > max ? text.slice(0, max - mark.length) + mark : text;
    const rows = documents.map((document) => columns.map((name) => cut(cellOf(document[name]), kCellMax, '...')));
    if (room > 0 && columns.length > 1 && columns.length * (kCellMin + 2) - 2 > room) {
        return sideways(columns, rows, room);
    }
    const wanted = columns.map((name, at) => Math.max(name.length, ...rows.map((row) => row[at].length)));
    const widths = room > 0 ? fitted(wanted, room) : wanted;
    const isNumber = columns.map((name) => documents.every(
        (document) => document[name] === undefined || typeof document[name] === 'number'));
    const line = (cells) => cells.map((cell, at) => cut(cell, widths[at], '\u2026'))
        .map((cell, at) => isNumber[at] ? cell.padStart(widths[at]) : cell.padEnd(widths[at])).join('  ').trimEnd();
    return [line(columns), widths.map((width) => '-'.repeat(width)).join('  '), ...rows.map(line)].join('\n');
};

library.csvOf = (documents) => {
    const columns = columnsOf(documents);
    const quoted = (text) => /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
    const cell = (value) => value === undefined || value === null ? '' : value instanceof Date ? value.toISOString()
        : library.isBson(value) || typeof value !== 'object' ? String(value) : EJSON.stringify(value);
    return [columns, ...documents.map((document) => columns.map((name) => cell(document[name])))]
        .map((row) => row.map((text) => quoted(text)).join(',')).join('\n');
};
