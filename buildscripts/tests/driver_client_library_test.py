#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A C++ program outside the tree links the client library by its pkg-config file, as docs/rdma/programs.md says."""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

EXAMPLE = os.path.join(harness.ROOT, 'docs', 'rdma', 'store_model.cpp')
LIBRARY = os.path.join(harness.ROOT, 'build', 'release', 'lib')


class ClientLibraryTest(unittest.TestCase):
    def test_the_example_is_built_by_one_line_and_stores_a_file(self):
        if not os.path.exists(os.path.join(LIBRARY, 'libfreshet.a')):
            self.skipTest('scons client_library has not been run')
        with tempfile.TemporaryDirectory() as folder, harness.Server() as server:
            program, file = os.path.join(folder, 'store_model'), os.path.join(folder, 'weights.bin')
            flags = subprocess.run(['pkg-config', '--cflags', '--libs', 'freshet-client'], check=True, capture_output=True, text=True,
                                   env=dict(os.environ, PKG_CONFIG_PATH=LIBRARY)).stdout.split()
            subprocess.run(['g++', EXAMPLE, '-o', program] + flags, check=True)
            content = os.urandom(3_000_000)
            with open(file, 'wb') as out:
                out.write(content)
            done = subprocess.run([program, server.uri + 'models', file], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (0, '3000000 bytes stored and read over tcp\n'), done.stderr)
            import gridfs  # of pymongo, which harness has put on the path
            with server.client() as client:
                self.assertEqual(gridfs.GridFS(client.models).get_last_version(file).read(), content)


if __name__ == '__main__':
    harness.import_pymongo()
    unittest.main()
