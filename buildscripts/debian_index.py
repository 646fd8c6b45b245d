#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns Debian's package index into nested JSON documents, one a line:

    apt-cache dumpavail | buildscripts/debian_index.py > packages.jsonl
"""
import json
import re
import subprocess
import sys

RECORDS_LEAST = 10_000

DEPENDENCY = re.compile(r'^(?P<name>[^\s:(]+)(?::(?P<arch>\S+))?(?:\s*\((?P<op>[<>=]+)\s*(?P<version>[^)]+)\))?')
MAINTAINER = re.compile(r'^(?P<name>.*?)\s*<(?P<email>[^>]*)>')
RELATIONS = ('Depends', 'Recommends', 'Suggests', 'Conflicts', 'Breaks', 'Replaces', 'Provides', 'Pre-Depends')
NUMBERS = ('Installed-Size', 'Size')


def stanzas(lines):
    """Each stanza as {field: text}; continuation lines keep their line breaks."""
    fields, last = {}, None
    for line in lines:
        line = line.rstrip('\n')
        if not line:
            if fields:
                yield fields
            fields, last = {}, None
        elif line[0] in ' \t' and last:
            fields[last] += '\n' + line.strip()
        elif ':' in line:
            last, value = line.split(':', 1)
            fields[last] = value.strip()
    if fields:
        yield fields


def relation(text):
    """'a | b (>= 1), c' -> [[{name: a}, {name: b, op: '>=', version: '1'}], [{name: c}]]"""
    groups = []
    for group in text.split(','):
        parsed = [DEPENDENCY.match(choice.strip()) for choice in group.split('|')]
        choices = [{key: value for key, value in match.groupdict().items() if value} for match in parsed if match]
        if choices:
            groups.append(choices)
    return groups


def key_of(name):
    head, *rest = name.split('-')
    return head.lower() + ''.join(part.capitalize() for part in rest)


def document(fields):
    doc = {'_id': '%s:%s:%s' % (fields['Package'], fields.get('Architecture', 'all'), fields.get('Version', ''))}
    for name, text in fields.items():
        if name in RELATIONS:
            doc[key_of(name)] = relation(text)
        elif name in NUMBERS and text.isdigit():
            doc[key_of(name)] = int(text)
        elif name == 'Maintainer' and MAINTAINER.match(text):
            doc['maintainer'] = MAINTAINER.match(text).groupdict()
        elif name == 'Description':
            short, _, rest = text.partition('\n')
            doc['description'] = {'short': short, 'lines': rest.split('\n') if rest else []}
        elif name == 'Tag':
            doc['tags'] = [tag.strip() for tag in text.replace('\n', ' ').split(',') if tag.strip()]
        else:
            doc[key_of(name)] = text
    return doc


def documents(lines):
    """One document for each package and version; the index may name one twice."""
    seen = set()
    for fields in stanzas(lines):
        if 'Package' in fields:
            doc = document(fields)
            if doc['_id'] not in seen:
                seen.add(doc['_id'])
                yield doc


def installable():
    """What the machine can install (not what is only installed); fetched once when it knows nothing."""
    for attempt in range(2):
        dump = subprocess.run(['apt-cache', 'dumpavail'], capture_output=True, text=True, errors='replace').stdout
        found = [doc for doc in documents(dump.splitlines(keepends=True)) if 'size' in doc]
        if len(found) >= RECORDS_LEAST or attempt:
            return found
        subprocess.run(['apt-get', 'update', '-q'], capture_output=True)
    return []


if __name__ == '__main__':
    for entry in documents(sys.stdin):
        print(json.dumps(entry, ensure_ascii=False))
