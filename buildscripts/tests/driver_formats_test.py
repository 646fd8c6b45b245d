# SPDX-License-Identifier: Apache-2.0
"""Data directories of every released on-disk format open, with all that was in them; a format of the future is
refused with a clear word. `python3 driver_formats_test.py --make NAME` adds one for the current format, ended
by a kill, so that opening it replays a journal too."""
import glob
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

KEPT = os.path.join(harness.ROOT, 'buildscripts', 'tests', 'formats')


def documents():
    """What every kept directory holds."""
    large = {7: 'x' * 20_000, 8: 'y' * 200_000}
    return [{'_id': i, 'square': i * i, 'name': 'name %d' % i, 'large': large.get(i, ''), 'list': list(range(i % 5))}
            for i in range(600) if i % 10 != 3]


def fill(client):
    kept = client.kept.c
    kept.create_index([('name', 1)], unique=True)
    kept.insert_many([{'_id': i, 'square': -1, 'name': 'name %d' % i} for i in range(600)])
    kept.create_index([('list', 1), ('square', -1)])
    client.kept.gone.insert_one({'x': 1})
    client.kept.drop_collection('gone')
    if 'fsync' in client.admin.command('listCommands')['commands']:
        client.admin.command('fsync')  # half in a checkpoint, half in the journal
    kept.delete_many({'_id': {'$mod': [10, 3]}})
    for document in documents():
        kept.replace_one({'_id': document['_id']}, document)


def make(name):
    with harness.Server() as server, server.client() as client:
        fill(client)
        server.kill()
        with tarfile.open(os.path.join(KEPT, name + '.tar.xz'), 'w:xz') as archive:
            for file in sorted(glob.glob(os.path.join(server.directory, 'db', '**'), recursive=True)):
                if os.path.isfile(file) and not file.endswith('.lock'):
                    archive.add(file, os.path.relpath(file, os.path.join(server.directory, 'db')))


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


class FormatsTest(unittest.TestCase):
    def unpacked(self, archive):
        directory = tempfile.mkdtemp(prefix='freshet-format-')
        self.addCleanup(shutil.rmtree, directory)
        with tarfile.open(archive) as files:
            files.extractall(os.path.join(directory, 'db'))
        return directory

    def check(self, server):
        with server.client() as client:
            kept = client.kept.c
            self.assertEqual(list(kept.find(sort=[('_id', 1)])), documents())
            self.assertEqual(sorted(kept.index_information()), ['_id_', 'list_1_square_-1', 'name_1'])
            self.assertEqual(client.kept.list_collection_names(), ['c'])
            self.assertTrue(client.kept.command('validate', 'c')['valid'])
            self.assertEqual(kept.count_documents({'list': 3}, hint='list_1_square_-1'),
                             sum(3 in d['list'] for d in documents()))

    def test_every_released_format_opens_and_stays_open(self):
        archives = sorted(glob.glob(os.path.join(KEPT, '*.tar.xz')))
        self.assertTrue(archives)
        for archive in archives:
            with self.subTest(os.path.basename(archive)):
                directory = self.unpacked(archive)
                for _ in range(2):  # the second time in today's format
                    with harness.Server(directory=directory) as server:
                        self.check(server)
                        self.assertEqual(server.stop(), 0)

    def newest(self):
        return max(glob.glob(os.path.join(KEPT, '*.tar.xz')))

    def refused(self, change):
        """Changes the 64 bytes of freshet.id; returns what the server says at its end."""
        directory = self.unpacked(self.newest())
        path = os.path.join(directory, 'db', 'freshet.id')
        with open(path, 'r+b') as file:
            data = bytearray(file.read())
            self.assertEqual(data[:8], b'FRESHETD')
            change(data)
            file.seek(0)
            file.write(data)
        done = subprocess.run(harness.Server(directory=directory).command(), capture_output=True, text=True, timeout=60)
        self.assertNotEqual(done.returncode, 0)
        said = done.stderr + done.stdout
        self.assertIn('freshet.id', said)
        return said

    def test_a_newer_identity_is_refused(self):
        def newer(data):
            data[8:12] = (1000).to_bytes(4, 'little')
            data[60:] = crc32c(data[:60]).to_bytes(4, 'little')
        self.assertIn('version 1000, this server reads 1', self.refused(newer))

    def test_a_data_file_that_uses_what_is_not_known_is_refused_as_a_whole(self):
        """As programs from before compression refuse the flag that says there may be some."""
        directory = self.unpacked(self.newest())
        path = os.path.join(directory, 'db', 'data.freshet')
        with open(path, 'r+b') as file:
            flags = 0
            for copy in range(2):
                file.seek(copy * 4096)
                data = bytearray(file.read(4096))
                flags |= int.from_bytes(data[12:16], 'little')
                data[12:16] = (1 << 31).to_bytes(4, 'little')
                data[4092:] = crc32c(data[:4092]).to_bytes(4, 'little')
                file.seek(copy * 4096)
                file.write(data)
        self.assertEqual(flags, 1, 'the newest kept directory has compressed pages')
        done = subprocess.run(harness.Server(directory=directory).command(), capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 62)
        self.assertIn('data.freshet: superblock A (offset 0): it was written by a newer version', done.stderr + done.stdout)

    def test_a_damaged_identity_is_not_taken_for_a_newer_one(self):
        def damaged(data):
            data[8:12] = (1000).to_bytes(4, 'little')
        self.assertIn('damaged', self.refused(damaged))


if __name__ == '__main__':
    if sys.argv[1:2] == ['--make']:
        make(sys.argv[2])
    else:
        unittest.main()
