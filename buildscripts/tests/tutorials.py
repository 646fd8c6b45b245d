# SPDX-License-Identifier: Apache-2.0
"""Runs the marked blocks of a documentation page, in order, as a reader would type them. docs/HACKING.md has the
markers."""
import dataclasses
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

FENCE = re.compile(r'^```(.*)$')
SECONDS = 300
PORTS = ('27017', '27018', '27019')
OWN_SERVER = re.compile(r'\bfreshetd\b.*\s(--dbpath|--config|-f)\b')
MARK = 'FRESHET_TUTORIAL'
LANGUAGES = ('sh', 'js', 'python')
# Adds the page's port where a reader would rely on the default one.
WRAPPER = '''#!/bin/sh
for each in "$@"; do
    case $each in
        --port* | --host* | --uri* | --config* | -f | --shutdown | --repair | --nodb | --help | --version | mongodb* | *:[0-9]*)
            exec '{program}' "$@" ;;
    esac
done
exec '{program}' --port {port} "$@"
'''


class PageError(AssertionError):
    """A block failed, printed something else, or is marked wrongly; the text names its place."""


@dataclasses.dataclass
class Block:
    place: str          # docs/app/try.md:12
    language: str
    text: str
    run: bool = False
    fails: bool = False
    needs: tuple = ()
    file: str = ''
    expected: str | None = None


def parse(path, name):
    """The page's marked blocks, in order. An output block belongs to the run block before it."""
    with open(path, encoding='utf-8') as page:
        lines = page.read().split('\n')
    blocks, last, at = [], None, 0
    while at < len(lines):
        opened = FENCE.match(lines[at])
        if not opened:
            if lines[at].strip():
                last = None
            at += 1
            continue
        end = next((i for i in range(at + 1, len(lines)) if lines[i].rstrip() == '```'), None)
        place = '%s:%d' % (name, at + 1)
        if end is None:
            raise PageError(place + ': the block has no end')
        words, text = opened[1].split(), '\n'.join(lines[at + 1:end])
        if words[:1] == ['output']:
            if last is None:
                raise PageError(place + ': output does not follow a block that is run')
            last.expected, last = text, None
        else:
            block = marked(place, words, text)
            last = block if block.run else None
            blocks += [block] if block.run or block.file else []
        at = end + 1
    return blocks


def marked(place, words, text):
    block = Block(place, words[0] if words else '', text)
    for word in words[1:]:
        if word == 'run' and block.language in LANGUAGES:
            block.run = True
        elif word == 'fails':
            block.fails = True
        elif word.startswith('needs='):
            block.needs = tuple(word[len('needs='):].split(','))
        elif re.fullmatch(r'file=[\w.-]+', word):
            block.file = word[len('file='):]
        else:
            raise PageError('%s: unknown marker %s' % (place, word))
    return block


def matches(expected, printed):
    """Whether the texts agree; a line of only `...` stands for any lines, `...` within a line for any text in it."""
    pattern = ''
    for line in tidy(expected):
        pattern += r'(?:[^\n]*\n)*?' if line.strip() == '...' else '[^\\n]*'.join(map(re.escape, line.split('...'))) + '\\n'
    return re.fullmatch(pattern, ''.join(line + '\n' for line in tidy(printed))) is not None


def tidy(text):
    return [line.rstrip() for line in text.strip('\n').rstrip().split('\n')]


class Runner:
    """One page, in a temporary folder. `missing(tool)` says why a tool is not here, or '' after it made sure of it;
    `paths` are folders where such tools are found, `libraries` maps names in the page's folder to what they link to."""

    def __init__(self, path, name, missing=lambda tool: '' if shutil.which(tool) else tool + ' is not here', paths=(), libraries=None):
        self.blocks, self.missing = parse(path, name), missing
        self.paths, self.libraries = list(paths), dict(libraries or {})
        self.skipped = []  # (place, why)
        self.ports = dict(zip(PORTS, (str(harness.free_port()) for _ in PORTS)))

    def run(self):
        self.folder = tempfile.mkdtemp(prefix='freshet-page-')
        self.outputs = tempfile.mkdtemp(prefix='freshet-page-outputs-')
        try:
            if any(block.run and OWN_SERVER.search(block.text) for block in self.blocks):
                self.run_blocks()
            else:
                server = harness.Server()
                server.port = int(self.ports['27017'])
                with server:
                    self.run_blocks()
        finally:
            self.end_processes()
            shutil.rmtree(self.folder, ignore_errors=True)
            shutil.rmtree(self.outputs, ignore_errors=True)

    def local(self, text):
        """The page's text with this run's ports."""
        return re.sub('|'.join(PORTS), lambda match: self.ports[match[0]], text)

    def as_printed(self, text):
        for port, ours in self.ports.items():
            text = re.sub(r'\b%s\b' % ours, port, text)
        return text

    def run_blocks(self):
        for name, target in self.libraries.items():
            os.symlink(target, os.path.join(self.folder, name))
        chosen = []
        for block in self.blocks:
            why = next(filter(None, map(self.missing, block.needs)), '')
            if why:
                self.skipped.append((block.place, why))
            else:
                chosen.append(block)
        script = os.path.join(self.outputs, 'script')
        with open(script, 'w', encoding='utf-8') as out:
            out.write(''.join(self.commands(number, block) for number, block in enumerate(chosen)))
        with subprocess.Popen(['bash', script], cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL,
                              start_new_session=True) as process:
            try:
                code = process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                code = 'no end after %d s' % SECONDS
        self.judge(chosen, code)

    def commands(self, number, block):
        """What bash does for one block. `set -e` ends it at the first command that fails."""
        text, output = self.local(block.text), os.path.join(self.outputs, str(number))
        source = os.path.join(self.outputs, 'source.%d' % number)
        if block.file:
            return "cp '%s' '%s'\n" % (self.written(source, text), block.file) + (
                '' if not block.run else self.commands(number, dataclasses.replace(block, file='')))
        if block.language != 'sh':
            interpreter = {'js': 'freshet --quiet', 'python': 'python3 -'}[block.language]
            text = "%s <'%s'" % (interpreter, self.written(source, text))
        begin = "exec >'%s' 2>&1\nset -eo pipefail\n" % output
        if block.fails:
            return begin + 'set +e\n%s\n[ $? -ne 0 ] || { echo "(this did not fail)"; exit 1; }\n' % text
        return begin + text + '\n'

    @staticmethod
    def written(path, text):
        with open(path, 'w', encoding='utf-8') as out:
            out.write(text + '\n')
        return path

    def environment(self):
        """Wrappers first, then the tools, then Python with pymongo."""
        harness.import_pymongo()
        wrappers = os.path.join(self.outputs, 'bin')
        os.mkdir(wrappers)
        programs = [harness.program(name) for name in ('freshet', 'freshetd')]
        programs += [os.path.join(folder, name) for folder in self.paths if os.path.isdir(folder)
                     for name in os.listdir(folder) if name.startswith('mongo') and name != 'mongosh']
        for path in programs:
            wrapper = os.path.join(wrappers, os.path.basename(path))
            with open(wrapper, 'w', encoding='utf-8') as out:
                out.write(WRAPPER.format(program=os.path.abspath(path), port=self.ports['27017']))
            os.chmod(wrapper, 0o755)
        paths = [wrappers, harness.RELEASE, *self.paths, os.path.join(harness.ROOT, 'build', 'venv', 'bin'), os.environ['PATH']]
        home = os.path.expanduser('~')  # where Go keeps what it has fetched and built
        return dict(os.environ, **{'GOPATH': os.environ.get('GOPATH') or os.path.join(home, 'go'),
                                   'GOCACHE': os.environ.get('GOCACHE') or os.path.join(home, '.cache', 'go-build'), 'PATH': ':'.join(map(os.path.abspath, paths[:-1])) + ':' + paths[-1], 'HOME': self.folder,
                                   MARK: self.folder, 'TERM': 'dumb', 'LC_ALL': 'C.UTF-8'})

    def judge(self, blocks, code):
        last = None
        for number, block in enumerate(blocks):
            path = os.path.join(self.outputs, str(number))
            if not block.run or not os.path.exists(path):
                continue
            with open(path, encoding='utf-8', errors='replace') as text:
                printed = self.as_printed(text.read())
            if last is not None:
                self.compare(*last)
            last = (block, printed)
        if code != 0:
            raise PageError('%s: ended with %s:\n%s' % (last[0].place if last else 'bash', code, last[1] if last else ''))
        if last is not None:
            self.compare(*last)

    @staticmethod
    def compare(block, printed):
        if block.expected is not None and not matches(block.expected, printed):
            raise PageError('%s: printed\n%s\nand not\n%s' % (block.place, printed, block.expected))

    def end_processes(self):
        """Whatever the page has started, told by what is in its environment, ends."""
        mark = ('%s=%s' % (MARK, self.folder)).encode()
        for name in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open('/proc/%s/environ' % name, 'rb') as environment:
                    if mark in environment.read().split(b'\0'):
                        os.kill(int(name), signal.SIGKILL)
            except (OSError, ProcessLookupError):
                pass
