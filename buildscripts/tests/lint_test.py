# SPDX-License-Identifier: Apache-2.0
"""Every lint is fed a violation and seen to fail, and passes on the clean twin."""
import os
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import architecture  # noqa: E402
import lint_atomics  # noqa: E402
import lint_coroutines  # noqa: E402
import lint_docs  # noqa: E402
import lint_format  # noqa: E402
import lint_headers  # noqa: E402
import lint_layers  # noqa: E402
import lint_log_ids  # noqa: E402
import lint_size  # noqa: E402

LICENCE = '// SPDX-License-Identifier: Apache-2.0\n'
LAYERS = '''third boost headers boost/
room low 0 uses -
room high 1 uses low third boost
'''
README = ''.join('## %s\n' % heading for heading in lint_docs.HEADINGS)


class LintTest(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix='freshet-lint-')
        self.addCleanup(shutil.rmtree, self.root)
        self.write('src/freshet/LAYERS', LAYERS)
        self.write('src/freshet/low/a.h', LICENCE + '#pragma once\n')
        self.write('src/freshet/low/closet/b.h', LICENCE + '#pragma once\n')
        self.write('src/freshet/high/c.h', LICENCE + '#pragma once\n#include "freshet/low/a.h"\n')
        self.write('src/freshet/low/README.md', README + 'a.h\n')
        self.write('src/freshet/high/README.md', README + 'c.h\n')
        self.write('README.md', 'buildscripts/run\nbuildscripts/test\n')

    def write(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as out:
            out.write(text)

    def assert_caught(self, lint, path, text, words):
        self.assertEqual(lint.check(self.root), [])
        self.write(path, LICENCE + text if path.endswith(('.h', '.cpp')) else text)
        problems = lint.check(self.root)
        self.assertTrue(any(words in problem for problem in problems), problems)

    def test_layers_refuses_to_look_up(self):
        self.assert_caught(lint_layers, 'src/freshet/low/a.cpp', '#include "freshet/high/c.h"\n', 'room low may not include')

    def test_layers_lets_a_main_source_include_what_its_program_has_also(self):
        self.write('src/freshet/LAYERS', LAYERS + 'program tried low/main.cpp also high\n')
        self.write('src/freshet/low/main.cpp', LICENCE + '#include "freshet/high/c.h"\n')
        self.assert_caught(lint_layers, 'src/freshet/low/a.cpp', '#include "freshet/high/c.h"\n', 'room low may not include')

    def test_layers_keeps_closets_private(self):
        self.assert_caught(lint_layers, 'src/freshet/high/c.cpp', '#include "freshet/low/closet/b.h"\n', 'is private to low')

    def test_layers_sees_a_circle_between_two_closets(self):
        self.write('src/freshet/LAYERS', LAYERS + 'closet low/other uses closet\n')
        self.write('src/freshet/low/other/d.h', LICENCE + '#include "freshet/low/closet/b.h"\n')
        self.assert_caught(lint_layers, 'src/freshet/low/closet/b.h', '#include "freshet/low/other/d.h"\n', 'closet low/closet may not include')

    def test_layers_refuses_a_circle_in_the_table(self):
        self.assert_caught(lint_layers, 'src/freshet/LAYERS', LAYERS + 'closet low/other uses closet\ncloset low/closet uses other\n',
                           'is used above')

    def test_layers_lets_a_named_circle_stand(self):
        self.write('src/freshet/LAYERS', LAYERS + 'circle low closet other\n')
        self.write('src/freshet/low/other/d.h', LICENCE + '#include "freshet/low/closet/b.h"\n')
        self.write('src/freshet/low/closet/b.h', LICENCE + '#include "freshet/low/other/d.h"\n')
        self.assertEqual(lint_layers.check(self.root), [])

    def test_layers_keeps_closets_out_of_public_headers(self):
        self.assert_caught(lint_layers, 'src/freshet/low/a.h', '#include "freshet/low/closet/b.h"\n', 'this header is public')

    def test_layers_refuses_an_unnamed_library(self):
        self.assert_caught(lint_layers, 'src/freshet/low/a.cpp', '#include <boost/asio.hpp>\n', 'room low may not include <boost')

    def test_layers_keeps_libraries_out_of_public_headers(self):
        self.assert_caught(lint_layers, 'src/freshet/high/c.h', '#include <boost/asio.hpp>\n', 'public header')

    def test_layers_refuses_threads_outside_platform(self):
        self.assert_caught(lint_layers, 'src/freshet/low/a.cpp', 'std::thread t;\n', 'come from platform')

    def test_layers_refuses_a_table_that_looks_up(self):
        self.assert_caught(lint_layers, 'src/freshet/LAYERS', 'room low 0 uses -\nroom bad 0 uses low\n', 'may not use')

    def test_atomics_refuses_raw_atomics(self):
        self.assert_caught(lint_atomics, 'src/freshet/low/a.cpp', 'std::atomic<int> x;\n', 'outside sync')

    def test_atomics_wants_an_order(self):
        self.assert_caught(lint_atomics, 'src/freshet/low/a.cpp', 'int y = x.load();\n', 'names no memory order')

    def test_atomics_wants_lost_and_progress(self):
        self.assert_caught(lint_atomics, 'src/freshet/low/a.cpp',
                           'bool b = x.compare_exchange_strong(e, 1, kAcqRel, kRelaxed);\n', 'without LOST')

    def test_atomics_wants_partners_that_exist(self):
        self.assert_caught(lint_atomics, 'src/freshet/low/a.cpp',
                           '// [a.read] pairs with [a.write]\nint y = x.load(kAcquire);\n', '[a.write] is defined nowhere')

    def test_coroutines_keep_awaits_out_of_branches(self):
        for line in ('int x = c ? co_await f() : 0;', 'int x = c\n    ? 0\n    : co_await f();', 'g(1, c ? 0 : h(2, co_await f()));',
                     "int x = c == '?' ? T{1} : co_await f();"):
            self.assert_caught(lint_coroutines, 'src/freshet/low/a.cpp', line + '\n', 'co_await in a branch')
            self.write('src/freshet/low/a.cpp', LICENCE)

    def test_coroutines_may_await_elsewhere(self):
        for line in ('int x = co_await f() ? 1 : 0;', 'int x = c ? 1 : 0; co_await f();', 'g(c ? 1 : 0, co_await f());',
                     'if (c ? a : b) { g(); } co_await f();', "// why not?\nco_await f('?', \"?\", 1'000);"):
            self.write('src/freshet/low/a.cpp', LICENCE + line + '\n')
            self.assertEqual(lint_coroutines.check(self.root), [], line)

    def test_size_refuses_a_long_file(self):
        self.assert_caught(lint_size, 'src/freshet/low/a.cpp', 'int x;\n' * 801, 'the limit is 800')

    def test_size_refuses_a_long_function(self):
        self.assert_caught(lint_size, 'src/freshet/low/a.cpp', 'void f() {\n' + '    g();\n' * 70 + '}\n', 'a function of 72 lines')

    def test_docs_refuses_a_thread_that_is_he(self):
        self.assert_caught(lint_docs, 'src/freshet/low/a.cpp', '// It is freed by the one who ended his slice.\n', 'a thread, a page, a client is "it"')

    def test_docs_refuses_a_sentence_that_begins_with_who(self):
        self.assert_caught(lint_docs, 'docs/a.md', 'First. Who waits longest is next.\n', 'begin with the subject')

    def test_docs_refuses_a_citation_that_leads_nowhere(self):
        self.assert_caught(lint_docs, 'src/freshet/low/a.cpp', 'int a;  // see DESIGN 3.5\n', 'cite a page of docs/design')

    def test_docs_refuses_a_decision_that_is_not_listed(self):
        self.write('docs/decisions/README.md', '- [0001](0001-a.md): a\n')
        self.write('docs/decisions/0001-a.md', 'A.\n')
        self.assert_caught(lint_docs, 'docs/decisions/0002-b.md', 'B.\n', 'does not list 0002-b.md')

    def test_docs_lets_code_be(self):
        self.write('docs/a.md', 'A question: who is it? `his` is a word.\n```\nhe = 1\n```\n')
        self.assertEqual(lint_docs.check(self.root), [])

    def test_docs_wants_the_headings(self):
        self.assert_caught(lint_docs, 'src/freshet/low/README.md', '## Purpose\na.h\n', 'headings are')

    def test_docs_wants_every_header_named(self):
        self.assert_caught(lint_docs, 'src/freshet/low/more.h', '', 'does not name more.h')

    def test_docs_wants_the_licence_line(self):
        self.assertEqual(lint_docs.check(self.root), [])
        self.write('src/freshet/low/a.cpp', 'int x;\n')
        self.assertIn('src/freshet/low/a.cpp:1: no licence line', lint_docs.check(self.root))

    def test_docs_follows_links(self):
        self.assert_caught(lint_docs, 'docs/x.md', 'see [y](y.md)\n', 'y.md is not there')

    def test_docs_sees_a_stale_figure(self):
        self.write(architecture.SVG, architecture.svg(self.root))
        self.assert_caught(lint_docs, 'src/freshet/LAYERS', LAYERS + 'room higher 2 uses high\n', 'is stale')

    def test_docs_looks_for_the_sources_of_the_architecture(self):
        row = '| `low/a.cpp` | `go` | goes |\n'
        self.write('docs/ARCHITECTURE.md', 'In `low/a.cpp`:\n' + row)
        self.assertEqual(len(lint_docs.check(self.root)), 2)
        self.write('src/freshet/low/a.cpp', LICENCE + 'void go() {}\n')
        self.assert_caught(lint_docs, 'docs/ARCHITECTURE.md', row.replace('go`', 'come`'), 'low/a.cpp has no come()')

    def write_log_ids(self):
        """A table, a source that logs its ids, and a page that lists them."""
        self.write(lint_log_ids.TABLE, LICENCE + 'enum class LogId {\n    kOne = 1,  // one\n    kTwo = 2,  // two\n};\n')
        self.write('src/freshet/low/a.cpp', LICENCE + 'log(LogId::kOne);\nlog(LogId::kTwo);\n')
        self.write(lint_log_ids.PAGE, lint_log_ids.HEADING + '\n\n| id | event |\n|--:|---|\n| 1, 2 | 3 things |\n')

    def test_log_ids_wants_each_number_once(self):
        self.write_log_ids()
        self.assert_caught(lint_log_ids, lint_log_ids.TABLE,
                           'enum class LogId {\n    kOne = 1,  // one\n    kTwo = 1,  // two\n};\n', 'kTwo has the number of kOne')

    def test_log_ids_wants_each_logged(self):
        self.write_log_ids()
        self.write('src/freshet/low/a_test.cpp', LICENCE + 'log(LogId::kTwo);\n')
        self.assert_caught(lint_log_ids, 'src/freshet/low/a.cpp', 'log(LogId::kOne);\n', 'nothing logs kTwo')

    def test_log_ids_compares_with_the_page(self):
        self.write_log_ids()
        self.assert_caught(lint_log_ids, lint_log_ids.PAGE, lint_log_ids.HEADING + '\n\n| 1, 3 | things |\n', 'does not list 2')
        self.assertIn('%s:3: 3 is not in %s' % (lint_log_ids.PAGE, lint_log_ids.TABLE), lint_log_ids.check(self.root))

    def test_log_ids_wants_a_text_for_each(self):
        self.write_log_ids()
        self.assert_caught(lint_log_ids, lint_log_ids.TABLE, 'enum class LogId {\n    kOne = 1,\n};\n', 'what it says')

    def test_headers_compiles_each_alone(self):
        self.assert_caught(lint_headers, 'src/freshet/low/a.h', '#pragma once\nstd::string x();\n', 'does not compile alone')

    def test_headers_leaves_to_the_build_only_what_a_source_includes_first(self):
        self.write('src/freshet/low/d.cpp', '#include <string>\n\n#include "freshet/low/d.h"\n')
        self.write('src/freshet/low/d_fuzz.cpp', '#include "freshet/low/d.h"\n')
        self.assert_caught(lint_headers, 'src/freshet/low/d.h', '#pragma once\nstd::string x();\n', 'does not compile alone')
        self.write('src/freshet/low/d.cpp', '#include "freshet/low/d.h"\n\n#include <string>\n')
        self.assertEqual(lint_headers.check(self.root), [])

    def test_format_sees_a_bad_line(self):
        shutil.copy(os.path.join(lint_layers.common.ROOT, '.clang-format'), self.root)
        self.assert_caught(lint_format, 'src/freshet/low/a.cpp', 'int   x ;\n', 'not formatted')


if __name__ == '__main__':
    unittest.main()
