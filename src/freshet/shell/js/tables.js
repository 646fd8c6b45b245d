// SPDX-License-Identifier: Apache-2.0
// Documents as a table of text, and as comma-separated values.
'use strict';

const kCellMax = 60;
const columnsOf = (documents) => [...new Set(documents.flatMap((document) => Object.keys(document)))];
const cellOf = (value) => value === undefined ? '' : library.display(value, {compact: Infinity, breakLength: Infinity})
    .replace(/\s*\n\s*/g, ' ');

library.tableOf = (documents) => {
    const columns = columnsOf(documents);
    const cut = (text) => text.length > kCellMax ? text.slice(0, kCellMax - 3) + '...' : text;
    const rows = documents.map((document) => columns.map((name) => cut(cellOf(document[name]))));
    const widths = columns.map((name, at) => Math.max(name.length, ...rows.map((row) => row[at].length)));
    const isNumber = columns.map((name) => documents.every(
        (document) => document[name] === undefined || typeof document[name] === 'number'));
    const line = (cells) => cells.map((cell, at) => isNumber[at] ? cell.padStart(widths[at]) : cell.padEnd(widths[at]))
        .join('  ').trimEnd();
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
