#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GridFS of our own client (freshet-bench gridfs, freshet-bench wire --op model) beside pymongo's: what one writes the
other reads, byte for byte. And the lines that freshet-bench wire prints about it. With FRESHET_RDMA_ADDRESS, which
rdma_lab sets, our client goes over RDMA, and pymongo over TCP."""
import json
import os
import random
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

harness.import_pymongo()
import gridfs  # noqa: E402  (pymongo's)

ADDRESS = os.environ.get('FRESHET_RDMA_ADDRESS')
SERVER_ARGUMENTS = ['--bind_ip', '127.0.0.1,' + ADDRESS, '--rdma', '--unsafe-listen-without-auth'] if ADDRESS else []
IN_PLACE = 16 * 1024
CHUNK = 255 * 1024
# Around one chunk, around the 16 chunks that travel together, and many.
SIZES = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 16 * CHUNK, 16 * CHUNK + 1, 40 * CHUNK + 12345]


def bench(*arguments, **options):
    return subprocess.run([harness.program('freshet-bench')] + list(arguments), capture_output=True, timeout=300,
                          check=False, **options)


class GridFsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.random = random.Random(harness.seed())
        cls.server = cls.enterClassContext(harness.Server(arguments=SERVER_ARGUMENTS))
        cls.client = cls.enterClassContext(cls.server.client())

    def bucket(self, name):
        return gridfs.GridFSBucket(self.client.files, bucket_name=name)

    def uri(self, database):
        return 'mongodb://%s:%d/%s' % (ADDRESS or '127.0.0.1', self.server.port, database + ('?rdma=true' if ADDRESS else ''))

    def door(self, what, filename, bucket, *more, data=None, database='files'):
        """Was over RDMA where it can be: what stays on TCP says so."""
        done = bench('gridfs', what, filename, '--uri', self.uri(database), '--bucket', bucket, *more, input=data)
        self.assertNotIn(b'stays on TCP', done.stderr)
        return done

    def wire(self, *arguments):
        done = bench('wire', '--uri', self.uri('bench'), '--pid', str(self.server.process.pid), '--json', *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual({line['transport'] for line in lines}, {'rdma' if ADDRESS else 'tcp'})
        return lines

    def test_pymongo_reads_what_we_wrote(self):
        bucket = self.bucket('ours')
        for size in SIZES:
            data = self.random.randbytes(size)
            done = self.door('put', 'file-%d' % size, 'ours', data=data)
            self.assertEqual(done.returncode, 0, done.stderr)
            with bucket.open_download_stream_by_name('file-%d' % size) as stored:
                self.assertEqual((stored.length, stored.chunk_size), (size, CHUNK))
                self.assertTrue(stored.read() == data, size)
        counts = {file._id: self.client.files['ours.chunks'].count_documents({'files_id': file._id})
                  for file in bucket.find({})}
        self.assertEqual(sorted(counts.values()), sorted((size + CHUNK - 1) // CHUNK for size in SIZES))
        # The indexes are those that pymongo makes, which therefore finds nothing to complain of.
        gridfs.GridFSBucket(self.client.files, bucket_name='theirs-first').upload_from_stream('x', b'x')
        for part in ('files', 'chunks'):
            self.assertEqual(self.client.files['ours.' + part].index_information(),
                             self.client.files['theirs-first.' + part].index_information())
        bucket.upload_from_stream('file-1', b'newer')
        self.assertEqual(self.door('get', 'file-1', 'ours').stdout, b'newer')

    def test_we_read_what_pymongo_wrote(self):
        bucket = self.bucket('theirs')
        for size in SIZES:
            data = self.random.randbytes(size)
            bucket.upload_from_stream('file-%d' % size, data)
            done = self.door('get', 'file-%d' % size, 'theirs')
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(done.stdout == data, size)
        for chunk in (1, 1000, 5 << 20):  # one chunk of 5 MiB is more than what travels together
            data = self.random.randbytes(2 * chunk + chunk // 2 + 1)
            bucket.upload_from_stream('chunks-%d' % chunk, data, chunk_size_bytes=chunk)
            self.assertTrue(self.door('get', 'chunks-%d' % chunk, 'theirs').stdout == data, chunk)
            self.door('put', 'back-%d' % chunk, 'theirs', '--chunk-bytes', str(chunk), data=data)
            self.assertTrue(bucket.open_download_stream_by_name('back-%d' % chunk).read() == data, chunk)

    def test_what_is_missing_is_told(self):
        bucket = self.bucket('broken')
        data = self.random.randbytes(5 * CHUNK)
        identity = bucket.upload_from_stream('file', data)
        self.client.files['broken.chunks'].delete_one({'files_id': identity, 'n': 3})
        done = self.door('get', 'file', 'broken')
        self.assertEqual(done.returncode, 1)
        self.assertIn(b'chunk 3 of 5 is missing: the next is 4', done.stderr)
        self.assertTrue(done.stdout == data[:3 * CHUNK])
        done = self.door('get', 'nobody', 'broken')
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"no file 'nobody'", done.stderr)

    def check_copies(self, line):
        """Each byte is copied, but for large values that leave over RDMA from where they lie."""
        size = line['value_bytes']
        if ADDRESS and line['op'].endswith('get') and size >= IN_PLACE:
            self.assertLess(line['copied_bytes_per_op'], size / 4)
        else:
            self.assertGreater(line['copied_bytes_per_op' if ADDRESS else 'kernel_copied_bytes_per_op'], size)

    def test_a_model_stays_in_gridfs(self):
        size = 3 << 20
        for _ in range(2):  # the second takes the place of the first
            put, get = self.wire('--op', 'model', '--value-bytes', '3M', '--stages')
            self.assertEqual([put['op'], get['op']], ['model-put', 'model-get'])
            for line in (put, get):
                self.assertEqual(line['value_bytes'], size)
                self.assertGreater(line['mib_per_s'], 0)
                self.check_copies(line)
        files = list(gridfs.GridFSBucket(self.client.bench, bucket_name='models').find({}))
        self.assertEqual([(file.filename, file.length) for file in files], [('model-%d' % size, size)])
        native = self.door('get', files[0].filename, 'models', database='bench')
        self.assertEqual(len(native.stdout), size)
        self.assertTrue(files[0].read() == native.stdout)

    def test_lines_of_mixed_and_stages(self):
        lines = self.wire('--op', 'mixed', '--op', 'get', '--value-bytes', '1K,64K', '--clients', '2', '--records', '50',
                          '--put-percent', '20', '--seconds', '1', '--stages')
        self.assertEqual([(line['op'], line['value_bytes']) for line in lines],
                         [('mixed', 1024), ('get', 1024), ('mixed', 65536), ('get', 65536)])
        for line in lines:
            self.assertGreater(line['ops'], 0)
            self.assertGreater(line['mean_us'], 0)
            for name in ('source', 'process', 'sink', 'other'):
                self.assertGreaterEqual(line[name + '_us_per_op'], 0, name)
            # Two clients are always somewhere: the stages are their time, but for the edges and the clock's ticks.
            stages = sum(line[name + '_us_per_op'] for name in ('source', 'process', 'sink', 'other'))
            self.assertGreater(stages, 0)
            self.assertEqual(line['rdma_writes_per_op'] is None, not ADDRESS)
            if line['op'] == 'get':
                self.check_copies(line)
        stored = self.client.bench.put.count_documents({})
        self.assertGreater(stored, 0)
        self.assertLess(stored, sum(line['ops'] for line in lines if line['op'] == 'mixed'))


if __name__ == '__main__':
    unittest.main()
