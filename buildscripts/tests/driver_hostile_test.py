# SPDX-License-Identifier: Apache-2.0
"""What a hostile client sends: cut, oversized, deeply nested, wrongly typed, bad UTF-8, unknown. Each gets
MongoDB's code, name and text or a closed connection; a client beside it notices nothing; memory stays bounded."""
import os
import random
import socket
import struct
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

harness.import_pymongo()
import bson  # noqa: E402

OP_MSG = 2013
MESSAGE_BYTES_MAX = 48_000_000


def message(body, flags=0, length=None, opcode=OP_MSG):
    payload = struct.pack('<I', flags) + body
    return struct.pack('<iiii', 16 + len(payload) if length is None else length, 1, 0, opcode) + payload


def command(document):
    return message(b'\0' + bson.encode(document))


class HostileTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server().start()
        cls.addClassCleanup(cls.server.__exit__)
        cls.client = cls.server.client()
        cls.addClassCleanup(cls.client.close)
        cls.client.hostile.kept.insert_many([{'_id': i} for i in range(100)])

    def setUp(self):
        """A bystander on a connection of its own that must not notice anything."""
        self.bystander = socket.create_connection(('127.0.0.1', self.server.port))
        self.addCleanup(self.bystander.close)

    def tearDown(self):
        self.assertEqual(self.ask(self.bystander, command({'ping': 1, '$db': 'admin'}))['ok'], 1)
        self.assertEqual(self.client.hostile.kept.count_documents({}), 100)
        self.assertIsNone(self.server.process.poll())

    def read(self, connection):
        """A reply's document; None when the server closed the connection."""
        data = self.read_bytes(connection)
        return None if data is None else bson.decode(data[21:])

    def read_bytes(self, connection):
        data = b''
        while len(data) < 4 or len(data) < struct.unpack_from('<i', data)[0]:
            try:
                more = connection.recv(65536)
            except ConnectionError:
                return None
            if not more:
                return None
            data += more
        return data

    def ask(self, connection, raw):
        connection.settimeout(20)
        try:
            connection.sendall(raw)
        except ConnectionError:
            return None
        return self.read(connection)

    def answer(self, raw):
        with socket.create_connection(('127.0.0.1', self.server.port)) as connection:
            return self.ask(connection, raw)

    def expect(self, document, code, name, text, db='hostile'):
        reply = self.answer(command({**document, '$db': db}))
        self.assertIsNotNone(reply, document)
        if 'writeErrors' in reply:
            error = reply['writeErrors'][0]
            self.assertEqual(error['code'], code, error)
            self.assertIn(text, error['errmsg'])
            return
        self.assertEqual((reply['ok'], reply['code'], reply['codeName']), (0, code, name), reply)
        self.assertIn(text, reply['errmsg'])

    def rss_kib(self):
        with open('/proc/%d/status' % self.server.process.pid, encoding='utf-8') as status:
            return int(next(line for line in status if line.startswith('VmRSS')).split()[1])

    def test_lengths_that_lie_close_the_connection_without_memory(self):
        before = self.rss_kib()
        for length in (0, 1, 15, -1, -(2**31), MESSAGE_BYTES_MAX + 1, 2**31 - 1):
            self.assertIsNone(self.answer(message(b'\0' + bson.encode({'ping': 1}), length=length)), length)
        held = [socket.create_connection(('127.0.0.1', self.server.port)) for _ in range(200)]
        for connection in held:
            connection.sendall(message(b'\0', length=MESSAGE_BYTES_MAX))  # announced, never sent
        self.answer(command({'ping': 1, '$db': 'admin'}))
        self.assertLess(self.rss_kib() - before, 64 * 1024)
        for connection in held:
            connection.close()

    def test_cut_anywhere(self):
        raw = command({'find': 'kept', 'filter': {'_id': {'$gt': 5}}, '$db': 'hostile'})
        for cut in range(len(raw)):
            with socket.create_connection(('127.0.0.1', self.server.port)) as connection:
                connection.sendall(raw[:cut])

    def test_random_damage(self):
        seed = harness.seed()
        chance = random.Random(seed)
        raw = bytearray(command({'find': 'kept', 'filter': {'$or': [{'_id': {'$in': [1, 2]}}, {'a.b': 'x'}]}, 'sort': {'a': 1}, '$db': 'hostile'}))
        for _ in range(400):
            damaged = bytearray(raw)
            for _ in range(chance.randrange(1, 6)):
                damaged[chance.randrange(16, len(damaged))] = chance.randrange(256)
            with socket.create_connection(('127.0.0.1', self.server.port)) as connection:
                connection.settimeout(20)
                connection.sendall(damaged)
                connection.shutdown(socket.SHUT_WR)
                self.read_bytes(connection)  # may quote a damaged name

    def test_damaged_bson(self):
        good = bson.encode({'insert': 'c', 'documents': [{'a': 'text'}], '$db': 'hostile'})
        cases = [good[:-1] + b'\1', good[:4] + b'\x7f' + good[5:], struct.pack('<i', len(good) + 9) + good[4:],
                 good.replace(b'text', b'te\xff\xfe')[:], good.replace(b'\x05\0\0\0text', b'\xf5\xff\xff\x7ftext')]
        for body in cases[:3] + cases[4:]:
            reply = self.answer(message(b'\0' + body))
            self.assertTrue(reply is None or (reply['ok'] == 0 and reply['code'] == 22), reply)

    def test_deep_nesting(self):
        deep = b'\x05\0\0\0\0'
        for _ in range(300):
            deep = struct.pack('<i', 4 + 1 + 2 + len(deep) + 1) + b'\x03a\0' + deep + b'\0'
        documents = bson.encode({'insert': 'c', '$db': 'hostile'})[4:-1] + b'\x04documents\0' + \
            struct.pack('<i', 4 + 3 + len(deep) + 1) + b'\x030\0' + deep + b'\0'
        body = struct.pack('<i', 4 + len(documents) + 1) + documents + b'\0'
        reply = self.answer(message(b'\0' + body))
        self.assertEqual((reply['ok'], reply['code']), (0, 15), reply)  # Overflow

    def test_wrong_types(self):
        self.expect({'find': 5}, 2, 'BadValue', 'collection name has invalid type int')
        self.expect({'find': 'c', 'filter': 5}, 14, 'TypeMismatch', "BSON field 'find.filter' is the wrong type 'int', expected type 'object'")
        self.expect({'find': 'c', 'limit': 'x'}, 14, 'TypeMismatch', "BSON field 'find.limit' is the wrong type 'string'")
        self.expect({'find': 'c', 'sort': {'a': 'up'}}, 15974, 'Location15974', 'Illegal key in $sort specification')
        self.expect({'insert': 'c', 'documents': 'x'}, 14, 'TypeMismatch', "BSON field 'insert.documents' is the wrong type 'string', expected type 'array'")
        self.expect({'insert': 'c', 'documents': []}, 16, 'InvalidLength', 'Write batch sizes must be between 1 and 100000')
        self.expect({'aggregate': 'c', 'pipeline': {'a': 1}, 'cursor': {}}, 14, 'TypeMismatch', 'array')
        self.expect({'createIndexes': 'c', 'indexes': [{'key': {'a': 'x'}, 'name': 'n'}]}, 67, 'CannotCreateIndex', '')
        self.expect({'getMore': 'x', 'collection': 'c'}, 14, 'TypeMismatch', "BSON field 'getMore.getMore' is the wrong type 'string', expected type")

    def test_unknown_things(self):
        self.expect({'nosuch': 1}, 59, 'CommandNotFound', "no such command: 'nosuch'")
        self.expect({'find': 'c', 'nosuch': 1}, 40415, 'Location40415', "BSON field 'find.nosuch' is an unknown field.")
        self.expect({'find': 'c', 'filter': {'a': {'$nosuch': 1}}}, 2, 'BadValue', 'unknown operator: $nosuch')
        self.expect({'find': 'c', 'filter': {'$nosuch': 1}}, 2, 'BadValue', 'unknown top level operator: $nosuch')
        self.expect({'aggregate': 'c', 'pipeline': [{'$nosuch': {}}], 'cursor': {}}, 40324, 'Location40324', "Unrecognized pipeline stage name: '$nosuch'")
        self.expect({'aggregate': 'c', 'pipeline': [{'$project': {'a': {'$nosuch': 1}}}], 'cursor': {}}, 31325, 'Location31325',
                    'Unknown expression $nosuch')
        self.expect({'aggregate': 'c', 'pipeline': [{'$group': {'_id': 1, 'a': {'$nosuch': 1}}}], 'cursor': {}}, 15952, 'Location15952', '$nosuch')
        self.expect({'update': 'c', 'updates': [{'q': {}, 'u': {'$nosuch': {'a': 1}}}]}, 9, 'FailedToParse', 'Unknown modifier: $nosuch')

    def test_sizes(self):
        large = {'_id': 1, 'a': 'x' * (16 * 1024 * 1024)}
        reply = self.answer(command({'insert': 'c', 'documents': [large], '$db': 'hostile'}))
        self.assertTrue(reply['code'] == 10334 if reply['ok'] == 0 else reply['writeErrors'][0]['code'] in (2, 10334), reply)
        self.expect({'create': 'x' * 300}, 73, 'InvalidNamespace', '')
        self.expect({'aggregate': 'c', 'pipeline': [{'$match': {}}] * 1001, 'cursor': {}}, 7749501, 'Location7749501', 'Pipeline length')

    def test_many_at_once(self):
        """Garbage from eight connections while a client works."""
        stop = threading.Event()

        def pester(seed):
            chance = random.Random(seed)
            while not stop.is_set():
                with socket.create_connection(('127.0.0.1', self.server.port)) as connection:
                    try:
                        connection.sendall(chance.randbytes(chance.randrange(1, 200)))
                    except ConnectionError:
                        pass
        first = harness.seed()
        threads = [threading.Thread(target=pester, args=(first + i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        try:
            for i in range(200):
                self.client.hostile.work.replace_one({'_id': 1}, {'n': i}, upsert=True)
                self.assertEqual(self.client.hostile.work.find_one({'_id': 1})['n'], i)
        finally:
            stop.set()
            for thread in threads:
                thread.join()


class GreedyTest(unittest.TestCase):
    """One client takes as much as it can of what all need: others notice nothing."""
    FINDS = 40_000

    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server(arguments=('--memoryLimitGB', '0.25')).start()
        cls.addClassCleanup(cls.server.__exit__)
        cls.client = cls.server.client()
        cls.addClassCleanup(cls.client.close)
        cls.client.hostile.kept.insert_many([{'_id': i} for i in range(100)])

    def cursors(self):
        return self.client.admin.command('serverStatus')['metrics']['cursor']

    def pipeline(self, raw, count):
        """Sends the message again and again; whatever comes back is thrown away."""
        with socket.create_connection(('127.0.0.1', self.server.port)) as connection:
            def drain():
                try:
                    while connection.recv(1 << 20):
                        pass
                except OSError:
                    pass
            reader = threading.Thread(target=drain)
            reader.start()
            for _ in range(count // 100):
                connection.sendall(raw * 100)
            connection.shutdown(socket.SHUT_WR)
            reader.join()

    def beside(self, attack):
        """A bystander's cursor, opened before, is read to its end while the attack runs and after it."""
        kept = self.client.hostile.kept
        before = kept.find({}, batch_size=10)
        first = [next(before) for _ in range(10)]
        threads = [threading.Thread(target=attack) for _ in range(4)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            self.assertEqual(len(list(kept.find({}, batch_size=30))), 100)
        self.assertEqual(len(first + list(before)), 100)

    def test_cursors_that_nobody_can_fetch(self):
        find = message(b'\0' + bson.encode({'find': 'kept', 'batchSize': 1, '$db': 'hostile'}), flags=2)  # moreToCome
        self.beside(lambda: self.pipeline(find, self.FINDS))
        self.assertLess(self.cursors()['open']['total'], 10)

    def test_cursors_without_end(self):
        ended = self.cursors()['endedForRoom']
        find = command({'find': 'kept', 'batchSize': 1, '$db': 'hostile'})
        self.beside(lambda: self.pipeline(find, self.FINDS // 4))
        after = self.cursors()
        self.assertLessEqual(after['idleBytes'], 64 << 20)
        self.assertGreater(after['endedForRoom']['memory'], ended['memory'])
        self.assertEqual(len(list(self.client.hostile.kept.find({}, batch_size=2))), 100)

    def test_large_cursors(self):
        self.client.hostile.large.insert_many([{'_id': i, 'a': 'x' * 100_000} for i in range(100)])
        sort = command({'find': 'large', 'sort': {'a': 1}, 'batchSize': 0, '$db': 'hostile'})
        self.beside(lambda: self.pipeline(command({'aggregate': 'large', 'pipeline': [{'$sort': {'a': 1}}],
                                                   'cursor': {'batchSize': 1}, '$db': 'hostile'}) + sort, 100))
        self.assertLessEqual(self.cursors()['idleBytes'], 64 << 20)

    def test_sessions(self):
        def attack():
            with socket.create_connection(('127.0.0.1', self.server.port)) as connection:
                for i in range(200):
                    sessions = [{'id': bson.Binary(os.urandom(16), 4)} for _ in range(1000)]
                    connection.sendall(command({'refreshSessions': sessions, '$db': 'admin'}))
                    self.assertGreater(len(connection.recv(1000)), 0)
        self.beside(attack)
        count = self.client.admin.command('serverStatus')['logicalSessionRecordCache']['activeSessionsCount']
        self.assertLessEqual(count, 20_000)


class LongRepliesTest(unittest.TestCase):
    """No reply is larger than a document may be, whatever it quotes."""

    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server().start()
        cls.addClassCleanup(cls.server.__exit__)
        cls.client = cls.server.client()
        cls.addClassCleanup(cls.client.close)

    def exchange(self, raw):
        with socket.create_connection(('127.0.0.1', self.server.port)) as connection:
            connection.settimeout(60)
            connection.sendall(raw)
            data = b''
            while len(data) < 4 or len(data) < struct.unpack_from('<i', data)[0]:
                data += connection.recv(1 << 20)
            return data

    def error(self, document, db='hostile'):
        """The error of a command; its reply is short."""
        data = self.exchange(command({**document, '$db': db}))
        self.assertLess(len(data), 20_000)
        reply = bson.decode(data[21:])
        error = reply['writeErrors'][0] if 'writeErrors' in reply else reply
        self.assertLessEqual(len(error['errmsg'].encode()), 4096)
        return error

    def test_errors_that_quote(self):
        long = 'x' * 10_000_000
        self.assertEqual(self.error({'ping': 1, long: 1})['code'], 40415)
        self.assertEqual(self.error({long: 1})['code'], 59)
        self.assertEqual(self.error({'find': long})['code'], 73)
        self.assertEqual(self.error({'find': 'c', 'filter': {'$' + long: 1}})['code'], 2)
        self.assertEqual(self.error({'ping': 1}, db=long)['code'], 73)
        self.assertEqual(self.error({'aggregate': 'c', 'pipeline': [{'$' + long: 1}], 'cursor': {}})['code'], 40324)
        self.assertEqual(self.error({'update': 'c', 'updates': [{'q': {}, 'u': {'$' + long: {'a': 1}}}]})['code'], 9)
        self.assertEqual(self.error({'getParameter': 1, long: 1}, db='admin')['code'], 72)
        self.client.hostile.c.insert_one({})
        self.error({'find': 'c', 'filter': {'$where': "throw new Error('\u20ac'.repeat(3e7))"}})

    def test_many_write_errors(self):
        self.client.hostile.kept.insert_many([{'_id': 'x' * 2000 + str(i)} for i in range(1000)])
        documents = b''.join(bson.encode({'_id': 'x' * 2000 + str(i % 1000)}) for i in range(20_000))
        sequence = b'\1' + struct.pack('<i', 4 + 10 + len(documents)) + b'documents\0' + documents
        reply = bson.decode(self.exchange(message(b'\0' + bson.encode(
            {'insert': 'kept', 'ordered': False, '$db': 'hostile'}) + sequence))[21:])
        self.assertEqual(len(reply['writeErrors']), 20_000)
        self.assertLess(len(bson.encode(reply)), 16 * 1024 * 1024)

    def test_replies_that_would_be_too_large(self):
        self.client.hostile.big.insert_many([{'_id': i, 'a': str(i) * 9_000_000} for i in range(3)])
        pipeline = [{'$group': {'_id': None, 'all': {'$push': '$a'}}}]
        self.assertEqual(self.error({'aggregate': 'big', 'pipeline': pipeline, 'cursor': {}})['code'], 10334)
        self.assertEqual(self.error({'distinct': 'big', 'key': 'a'})['code'], 17217)


if __name__ == '__main__':
    unittest.main()
