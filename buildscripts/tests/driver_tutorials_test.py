# SPDX-License-Identifier: Apache-2.0
"""What the documentation tells its readers to type works, and prints what the page shows: the marked blocks of each page,
with the programs on the PATH. A page alone: driver_tutorials_test.py PagesTest.test_docs_app_try."""
import glob
import os
import re
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import driver_languages_test as languages  # noqa: E402
import driver_mongosh_test as mongosh  # noqa: E402
import driver_tools_test as tools  # noqa: E402
import harness  # noqa: E402
import tutorials  # noqa: E402

PAGES = ('docs/app/*.md', 'docs/admin/*.md', 'docs/shell/tour.md')
DATABASE_TOOLS = ('bsondump', 'mongodump', 'mongoexport', 'mongoimport', 'mongorestore', 'mongostat', 'mongotop')
DRIVERS = {'node': languages.install_node, 'go': languages.install_go, 'java': languages.install_java}


def missing(tool):
    """Why the tool is not here, or ''. Drivers and database tools are fetched as the other tests do."""
    try:
        if tool in DATABASE_TOOLS:
            tools.tool(tool)
        elif tool == 'mongosh':
            languages.need('npm')
            mongosh.install()
        elif tool in DRIVERS:
            if not os.environ.get('FRESHET_FULL') and not os.path.exists(os.path.join(languages.WORK, tool, 'ready')):
                return 'the driver for %s is not here; the full command fetches it, and so does FRESHET_FULL=1' % tool
            DRIVERS[tool]()
        else:
            languages.need(tool)
    except unittest.SkipTest as skip:
        return str(skip)
    return ''


def libraries():
    """Where a program of a page finds its driver, as if it had been installed in the page's folder."""
    links = {'node_modules': ('node', 'node_modules'), 'lib': ('java', 'lib'), 'go.mod': ('go', 'go.mod'), 'go.sum': ('go', 'go.sum')}
    return {name: os.path.join(languages.WORK, *target) for name, target in links.items()}


class PagesTest(unittest.TestCase):
    """One test for each page."""


def page_test(path):
    def test(self):
        name = os.path.relpath(path, harness.ROOT)
        page = tutorials.Runner(path, name, missing, [tools.BUILT, os.path.dirname(mongosh.MONGOSH)], libraries())
        page.run()
        for place, why in page.skipped:
            with self.subTest(place):
                self.skipTest(why)
    return test


for pattern in PAGES:
    for found in sorted(glob.glob(os.path.join(harness.ROOT, pattern))):
        page_name = re.sub(r'\W', '_', os.path.relpath(found, harness.ROOT)[:-len('.md')])
        setattr(PagesTest, 'test_' + page_name, page_test(found))


class RunnerTest(unittest.TestCase):
    """The runner sees what is wrong."""

    def page(self, text):
        folder = tempfile.mkdtemp(prefix='freshet-test-')
        self.addCleanup(shutil.rmtree, folder)
        path = os.path.join(folder, 'page.md')
        with open(path, 'w', encoding='utf-8') as out:
            out.write(text.replace("'''", '```'))
        page = tutorials.Runner(path, 'page.md')
        page.run()
        return page

    def assert_fails(self, text, words):
        with self.assertRaisesRegex(tutorials.PageError, words):
            self.page(text)

    def test_blocks_share_a_folder_variables_and_a_server(self):
        self.page("'''sh run\nx=5; echo hello >file; mkdir d; cd d\n'''\n\n'''sh run\necho $x; cat ../file\n'''\nIt prints:\n"
                  "'''sh\nfalse\n'''\n'''python run\nimport pymongo\npymongo.MongoClient('mongodb://127.0.0.1:27017/').shop.c.insert_one({'_id': 1})\n"
                  "'''\n'''js run\nuse shop\ndb.c.find()\n'''\n'''output\n...\n[ { _id: 1 } ]\n'''\n")

    def test_a_page_may_start_a_server_itself(self):
        self.page("'''sh run\nmkdir data\nfreshetd --dbpath data --fork --logpath log >/dev/null\nfreshet --ping\n'''\n"
                  "'''output\n{ \"ok\"...\n'''\n'''sh run\nfreshetd --dbpath data --shutdown\n'''\n")

    def test_a_block_that_fails(self):
        self.assert_fails("'''sh run\ntrue\n'''\n'''sh run\nfalse\ntrue\n'''\n'''sh run\ntrue\n'''\n", '(?s)page.md:4: ended with 1')

    def test_a_block_that_must_fail(self):
        self.page("'''sh run fails\nfreshet --eval 'db.c.insertOne({_id: {$x: 1}})'\n'''\n'''output\n...$x...\n'''\n")
        self.assert_fails("'''sh run fails\ntrue\n'''\n", 'did not fail')

    def test_another_output(self):
        self.assert_fails("'''sh run\necho one; echo two\n'''\n'''output\none\n'''\n", '(?s)page.md:1: printed.*two')
        self.page("'''sh run\necho one; echo two words; echo three\n'''\n'''output\none\nt...ds\nthree\n'''\n")
        self.page("'''sh run\necho one; echo two; echo three\n'''\n\n'''output\n...\nthree\n'''\n")

    def test_markers_that_are_wrong(self):
        self.assert_fails("'''sh rum\ntrue\n'''\n", 'page.md:1: unknown marker rum')
        self.assert_fails("'''sh run\ntrue\n'''\nwords\n'''output\nx\n'''\n", 'page.md:5: output does not follow')
        self.assert_fails("'''sh run\ntrue\n", 'page.md:1: the block has no end')

    def test_files_and_tools_that_are_missing(self):
        page = self.page("'''js file=a.js\nlet a = 1\n'''\n'''sh run\ncat a.js\n'''\n'''output\nlet a = 1\n'''\n"
                         "'''sh run needs=no_such_tool\nfalse\n'''\n")
        self.assertEqual(page.skipped, [('page.md:10', 'no_such_tool is not here')])


if __name__ == '__main__':
    unittest.main()
