# SPDX-License-Identifier: Apache-2.0
"""Turns that an English-speaking reader stumbles over or cannot look up, found in comments and pages; called by lint_docs."""
import os
import re

import lint_common as common

# (pattern, what to write instead)
TURNS = [(re.compile(pattern, flags), advice) for pattern, flags, advice in (
    (r'\b(?:he|his|him|himself)\b', re.I, 'a thread, a page, a client is "it"; name the subject'),
    (r'(?:^|[.:;] )Who(?:ever)? (?!.*\?)', 0, 'begin with the subject: "A thread that ..."'),
    (r'\b(?:whoso|whereof|thereof|wherein|therein|wherefore|lest)\b', re.I, 'an old word'),
    (r'\bof which no more hangs\b|\bhas it in hand\b|\bcomes by later\b', re.I, 'say it plainly'),
    (r'\b(?:DESIGN|STYLE) [0-9A-Z]', 0, 'cite a page of docs/design'),
    (r'\b(?:[Dd]ocument|[Ss]ource) 0\d\d\b|\bfinding F\d|\bissue \d+\b', 0, 'cite the public source by title and author'),
)]


def markdown_files(root):
    found = []
    for folder, names, files in os.walk(root):
        names[:] = [n for n in names if n not in ('.git', 'build', 'data', 'node_modules')]
        found += [os.path.relpath(os.path.join(folder, name), root) for name in files if name.endswith('.md')]
    return sorted(found)


def sentences(root):
    """(path, line number, text) of what is written for readers: comments of the sources, and Markdown beside its code."""
    for path in common.source_files(root):
        for number, line in enumerate(common.read_lines(root, path), 1):
            found = re.search(r'(?:^|\s)///? ?(.*)', line)
            if found:
                yield path, number, found[1]
    for path in markdown_files(root):
        is_code = False
        for number, line in enumerate(common.read_lines(root, path), 1):
            is_code ^= line.lstrip().startswith('```')
            if not is_code:
                yield path, number, re.sub(r'`[^`]*`|\]\([^)]*\)', '', line)


def check(root):
    return ['%s:%d: "%s": %s' % (path, number, found[0].strip(), advice)
            for path, number, text in sentences(root) for turn, advice in TURNS for found in [turn.search(text)] if found]
