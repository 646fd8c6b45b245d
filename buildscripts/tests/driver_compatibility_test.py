# SPDX-License-Identifier: Apache-2.0
"""docs/app/compatibility says what the server does today, and etc/compatibility names every word that it has."""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402


class CompatibilityTest(unittest.TestCase):
    def test_the_pages_are_not_stale(self):
        done = subprocess.run([sys.executable, '-B', os.path.join(harness.ROOT, 'buildscripts', 'list_compatibility'), '--check'],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stdout), (0, ''), done.stderr)


if __name__ == '__main__':
    unittest.main()
