# SPDX-License-Identifier: Apache-2.0
"""What is said about the programs' options outside of the programs: the man pages name each of them, and bash completes
them, their values and the files that they take."""
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

PROGRAMS = ('freshet', 'freshetd')
COMPLETE = """
source "$0"
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
handler=$(complete -p "${1##*/}")
handler=${handler#*-F }
${handler%% *}
printf '%s\\n' "${COMPREPLY[@]}"
"""


def offered(name):
    text = subprocess.run([harness.program(name), '--help'], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r'(?<![\w-])--[A-Za-z][\w-]*', text))


class ManualTest(unittest.TestCase):
    def page(self, name):
        return os.path.join(harness.ROOT, 'docs', 'man', name + '.1')

    def test_a_page_names_every_option_and_no_other(self):
        for name in PROGRAMS:
            with open(self.page(name), encoding='utf-8') as source:
                text = re.sub(r'\\f[BIPR]', ' ', source.read()).replace('\\-', '-')
            named = set(re.findall(r'(?<![\w-])--[A-Za-z][\w-]*', text))
            with self.subTest(name):
                self.assertGreater(len(offered(name)), 20)
                self.assertEqual(offered(name) - named, set())
                # freshet also takes options of mongosh that its --help does not name.
                self.assertEqual({option for option in named - offered(name) if not self.accepted(name, option)}, set())

    def accepted(self, name, option):
        return any(subprocess.run([harness.program(name), each, '--help'], capture_output=True).returncode == 0
                   for each in (option, option + '=1'))

    @unittest.skipUnless(shutil.which('man'), 'there is no man to show a page')
    def test_a_page_can_be_shown(self):
        for name in PROGRAMS:
            done = subprocess.run(['man', '--warnings', '-l', self.page(name)], capture_output=True, text=True, check=True,
                                  env=dict(os.environ, MANWIDTH='80', MANPAGER='cat', LC_ALL='C.UTF-8'))
            self.assertEqual(done.stderr, '')
            for heading in ('NAME', 'SYNOPSIS', 'OPTIONS', 'EXIT STATUS'):
                self.assertIn('\n' + heading, done.stdout)


class CompletionTest(unittest.TestCase):
    def complete(self, *words):
        script = os.path.join(harness.ROOT, 'etc', 'completion', os.path.basename(words[0]))
        done = subprocess.run(['bash', '-c', COMPLETE, script, *words], capture_output=True, text=True, cwd=harness.ROOT, check=True)
        return set(done.stdout.split())

    def test_every_option(self):
        for name in PROGRAMS:
            self.assertEqual({word for word in self.complete(harness.program(name), '-') if word.startswith('--')}, offered(name))

    def test_an_option_that_is_begun(self):
        self.assertEqual(self.complete(harness.program('freshet'), 'shop', '--ev'), {'--eval'})
        self.assertEqual(self.complete(harness.program('freshetd'), '--logp'), {'--logpath'})

    def test_values(self):
        self.assertEqual(self.complete(harness.program('freshetd'), '--tlsMode', 're'), {'requireTLS'})
        self.assertEqual(self.complete(harness.program('freshetd'), '--tlsMode', '=', 'pre'), {'preferTLS'})
        self.assertEqual(self.complete(harness.program('freshet'), '--networkMessageCompressors', 'z'), {'zstd', 'zlib'})
        self.assertEqual(self.complete(harness.program('freshet'), '--eval', ''), set())

    def test_files_and_folders(self):
        self.assertEqual(self.complete(harness.program('freshet'), 'jstests/libs/fru'), {'jstests/libs/fruit.js'})
        self.assertEqual(self.complete(harness.program('freshet'), 'etc/freshet.'), set())  # no script
        self.assertEqual(self.complete(harness.program('freshetd'), '--config', 'etc/freshet.'), {'etc/freshet.conf'})
        self.assertEqual(self.complete(harness.program('freshetd'), '--dbpath', 'etc/su'), {'etc/suites'})


if __name__ == '__main__':
    unittest.main()
