# SPDX-License-Identifier: Apache-2.0
"""What transactions refuse, on a standalone and on a replica set of one, and how each refusal is spelled: codes, names and labels.
Also the ends that others bring to a transaction."""
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import transaction_load as load  # noqa: E402
from transaction_case import REPLICA_SET, TRANSIENT, Case  # noqa: E402

pymongo = harness.import_pymongo()
import bson  # noqa: E402

SECONDS_MAX = 60  # that nothing takes
NO_USER = bytes.fromhex('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')  # SHA-256 of nothing


class Tests:
    """Run on both kinds of server."""

    # Ends that others bring.

    def test_the_lifetime_limit(self):
        before = self.client.admin.command({'getParameter': 1, 'transactionLifetimeLimitSeconds': 1})
        self.assertEqual(before['transactionLifetimeLimitSeconds'], 60)
        self.client.admin.command({'setParameter': 1, 'transactionLifetimeLimitSeconds': 1})
        self.addCleanup(self.client.admin.command, {'setParameter': 1, 'transactionLifetimeLimitSeconds': 60})
        self.c.insert_one({'_id': 1, 'n': 0})
        writer, reader = self.session(), self.session()
        self.c.update_one({'_id': 1}, {'$inc': {'n': 1}}, session=writer)
        self.c.find_one(session=reader)
        self.c.update_one({'_id': 1}, {'$inc': {'n': 10}})  # waits until the writer is aborted
        deadline = time.monotonic() + SECONDS_MAX
        while self.client.admin.command('serverStatus')['transactions']['currentOpen'] > 0:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        self.fails(251, 'NoSuchTransaction', TRANSIENT, self.c.insert_one, {}, session=writer)
        self.fails(251, 'NoSuchTransaction', TRANSIENT, self.c.find_one, session=reader)
        self.assertEqual(self.c.find_one(), {'_id': 1, 'n': 10})

    def test_sessions_ended_and_killed(self):
        for command in (lambda s: {'endSessions': [s.id]}, lambda s: {'killSessions': [s.id]}, lambda s: {'killAllSessions': []},
                        lambda s: {'killAllSessionsByPattern': [{'lsid': {**s.id, 'uid': bson.Binary(NO_USER)}}]}):
            with self.subTest(command):
                s = self.raw_session()
                s.begin()
                s.run('t', {'insert': 'c', 'documents': [{}]})
                self.client.admin.command(command(s))
                self.refused(251, 'NoSuchTransaction', TRANSIENT, s.commit)
        self.assertEqual(self.c.count_documents({}), 0)

    def test_a_driver_that_ends_its_session(self):
        with self.client.start_session() as s:
            s.start_transaction()
            self.c.insert_one({'_id': 1}, session=s)
        self.c.insert_one({'_id': 1})  # nothing stands in its way

    def test_a_new_transaction_takes_the_place_of_the_old(self):
        s = self.raw_session()
        s.begin()
        s.run('t', {'insert': 'c', 'documents': [{'_id': 1}]})
        s.begin()
        s.run('t', {'insert': 'c', 'documents': [{'_id': 1}, {'_id': 2}]})
        s.commit()
        self.assertEqual(self.c.count_documents({}), 2)

    # Concerns.

    def test_read_concerns(self):
        self.c.insert_one({'_id': 1})
        for level in ('local', 'majority', 'snapshot'):
            s = self.session(read_concern=pymongo.read_concern.ReadConcern(level))
            self.assertEqual(self.c.count_documents({}, session=s), 1)
            self.c.insert_one({}, session=s)
            s.abort_transaction()
        s = self.raw_session()
        for level in ('available', 'linearizable'):
            s.begin(level)
            self.refused(72, 'InvalidOptions', [], s.run, 't', {'find': 'c'})
        s.begin('nonsense')
        self.refused(2, 'BadValue', [], s.run, 't', {'find': 'c'})

    def test_concerns_of_later_statements_are_refused(self):
        s = self.raw_session()
        s.begin()
        s.run('t', {'insert': 'c', 'documents': [{'_id': 1}]})
        for command in ({'insert': 'c', 'documents': [{}]}, {'find': 'c'}):
            for level in ('local', 'majority', 'snapshot'):
                self.refused(72, 'InvalidOptions', [], s.run, 't', {**command, 'readConcern': {'level': level}})
        for concern in ({'w': 1}, {'w': 'majority'}):
            self.refused(72, 'InvalidOptions', [], s.run, 't', {'insert': 'c', 'documents': [{}], 'writeConcern': concern})
        s.commit()  # none of them has ended it
        self.assertEqual(self.c.distinct('_id'), [1])
        s.begin()
        self.refused(72, 'InvalidOptions', [], s.run, 't', {'insert': 'c', 'documents': [{}], 'writeConcern': {'w': 1}})

    def test_write_concerns_of_commits(self):
        WriteConcern = pymongo.write_concern.WriteConcern
        for at, concern in enumerate((None, WriteConcern(1), WriteConcern('majority'), WriteConcern(1, j=True), WriteConcern('majority', wtimeout=1000))):
            s = self.session(write_concern=concern)
            self.c.insert_one({'_id': at}, session=s)
            s.commit_transaction()
        self.assertEqual(self.c.count_documents({}), 5)

    # The forms that are refused.

    def test_fields_that_do_not_fit(self):
        lsid, number = self.raw_session().id, bson.Int64(5)
        wire = self.raw_session().wire
        find = {'find': 'c'}
        for words, more in (
                ('Transaction number requires a session ID', {'txnNumber': number}),
                ("'autocommit' field requires a transaction number", {'lsid': lsid, 'autocommit': False}),
                ("'startTransaction' field requires 'autocommit' field", {'lsid': lsid, 'txnNumber': number, 'startTransaction': True}),
                ('Specifying autocommit=true is not allowed', {'lsid': lsid, 'txnNumber': number, 'autocommit': True}),
                ('Specifying autocommit=true is not allowed', {'lsid': lsid, 'txnNumber': number, 'autocommit': True, 'startTransaction': True}),
                ('Specifying startTransaction=false is not allowed', {'lsid': lsid, 'txnNumber': number, 'autocommit': False, 'startTransaction': False}),
                ('Transaction number cannot be negative', {'lsid': lsid, 'txnNumber': bson.Int64(-1), 'autocommit': False, 'startTransaction': True})):
            with self.subTest(more=more):
                self.assertIn(words, self.refused(72, 'InvalidOptions', [], wire.ask, 't', {**find, **more}))
        self.refused(14, 'TypeMismatch', [], wire.ask, 't', {**find, 'lsid': lsid, 'txnNumber': 5, 'autocommit': False, 'startTransaction': True})
        self.refused(50768, 'NotARetryableWriteCommand', [], wire.ask, 't', {**find, 'lsid': lsid, 'txnNumber': number})

    def test_ends_that_do_not_fit(self):
        s = self.raw_session()
        s.begin()
        s.run('t', {'insert': 'c', 'documents': [{}]})
        for name in ('commitTransaction', 'abortTransaction'):
            with self.subTest(name):
                number = bson.Int64(s.number)
                self.refused(125, 'CommandFailed', [], s.wire.ask, 'admin', {name: 1})
                self.refused(125, 'CommandFailed', [], s.wire.ask, 'admin', {name: 1, 'lsid': s.id})
                self.refused(50768, 'NotARetryableWriteCommand', [], s.wire.ask, 'admin', {name: 1, 'lsid': s.id, 'txnNumber': number})
                self.refused(72, 'InvalidOptions', [], s.wire.ask, 'admin', {name: 1, 'lsid': s.id, 'txnNumber': number, 'autocommit': True})
                self.refused(263, 'OperationNotSupportedInTransaction', [], s.wire.ask, 'admin',
                             {name: 1, 'lsid': s.id, 'txnNumber': bson.Int64(s.number + 1), 'autocommit': False, 'startTransaction': True})
                self.refused(13, 'Unauthorized', [], s.wire.ask, 't', {name: 1, **s.fields()})
        self.refused(40415, 'Location40415', [], s.wire.ask, 'admin', {'commitTransaction': 1, 'invalidField': 1, **s.fields()})
        s.commit()
        self.assertEqual(self.c.count_documents({}), 1)

    def test_numbers_that_do_not_fit(self):
        s = self.raw_session()
        s.number = 9
        s.begin()
        s.run('t', {'insert': 'c', 'documents': [{}]})
        again = {**s.fields(), 'startTransaction': True}
        self.refused(117, 'ConflictingOperationInProgress', [], s.wire.ask, 't', {'find': 'c', **again})
        self.refused(225, 'TransactionTooOld', [], s.wire.ask, 't', {'find': 'c', **again, 'txnNumber': bson.Int64(9)})
        self.refused(225, 'TransactionTooOld', [], s.wire.ask, 't', {'find': 'c', **s.fields(), 'txnNumber': bson.Int64(9)})
        self.refused(251, 'NoSuchTransaction', TRANSIENT, s.wire.ask, 't', {'find': 'c', **s.fields(), 'txnNumber': bson.Int64(11)})
        self.refused(217, 'IncompleteTransactionHistory', [], s.wire.ask, 't',
                     {'insert': 'c', 'documents': [{}], 'lsid': s.id, 'txnNumber': bson.Int64(10)})
        s.commit()
        self.assertEqual(self.c.count_documents({}), 1)
        s.wire.ask('t', {'insert': 'c', 'documents': [{}], 'lsid': s.id, 'txnNumber': bson.Int64(12)})  # retryable
        self.refused(225, 'TransactionTooOld', [], s.wire.ask, 't', {'find': 'c', **again, 'txnNumber': bson.Int64(11)})

    def test_a_transaction_that_has_ended(self):
        s = self.raw_session()
        insert = {'insert': 'c', 'documents': [{}]}
        s.begin()
        s.run('t', insert)
        s.abort()
        self.refused(251, 'NoSuchTransaction', TRANSIENT, s.commit)
        self.refused(251, 'NoSuchTransaction', TRANSIENT, s.abort)
        self.refused(251, 'NoSuchTransaction', TRANSIENT, s.run, 't', insert)
        self.refused(117, 'ConflictingOperationInProgress', [], s.wire.ask, 't', {**insert, **s.fields(), 'startTransaction': True})
        s.begin()
        s.run('t', insert)
        s.commit()
        self.refused(256, 'TransactionCommitted', [], s.abort)
        self.refused(256, 'TransactionCommitted', [], s.run, 't', insert)
        self.refused(117, 'ConflictingOperationInProgress', [], s.wire.ask, 't', {**insert, **s.fields(), 'startTransaction': True})
        s.commit()
        self.assertEqual(self.c.count_documents({}), 1)

    def test_commands_refused_inside(self):
        self.c.insert_one({'_id': 1})
        s = self.raw_session()
        for db, command in (('t', {'count': 'c'}), ('t', {'explain': {'find': 'c'}}), ('t', {'ping': 1}), ('t', {'hello': 1}),
                            ('t', {'buildInfo': 1}), ('t', {'listCommands': 1}), ('t', {'collStats': 'c'}), ('t', {'dbStats': 1}),
                            ('admin', {'renameCollection': 't.c', 'to': 't.d'}), ('admin', {'fsync': 1}), ('admin', {'serverStatus': 1}),
                            ('config', {'find': 'transactions'}), ('local', {'find': 'startup_log'}), ('admin', {'find': 'x'}),
                            ('admin', {'insert': 'x', 'documents': [{}]})):
            with self.subTest(command=command):
                s.begin()
                self.refused(263, 'OperationNotSupportedInTransaction', [], s.run, db, command)
                self.refused(251, 'NoSuchTransaction', TRANSIENT, s.commit)  # it was not begun
                s.begin()
                s.run('t', {'find': 'c'})
                self.refused(263, 'OperationNotSupportedInTransaction', [], s.run, db, command)
                s.commit()  # it was not ended

    def test_stages_refused_inside(self):
        self.c.insert_one({'_id': 1})
        s = self.raw_session()
        for db, of, stage in (('t', 'c', {'$out': 'd'}), ('t', 'c', {'$merge': 'd'}), ('t', 'c', {'$collStats': {'count': {}}}),
                              ('t', 'c', {'$indexStats': {}}), ('admin', 1, {'$currentOp': {}})):
            with self.subTest(stage=stage):
                s.begin()
                self.refused(263, 'OperationNotSupportedInTransaction', [], s.run, db, {'aggregate': of, 'pipeline': [stage], 'cursor': {}})
                self.refused(251, 'NoSuchTransaction', TRANSIENT, s.commit)
        self.assertEqual(self.names(), ['c'])

    def test_collections_refused_inside(self):
        self.db['system.js'].insert_one({'_id': 'f', 'value': 1})
        s = self.client.start_session()
        self.addCleanup(s.end_session)
        for write in ((self.db['system.js'].insert_one, {'_id': 'g', 'value': 1}), (self.db['system.js'].delete_one, {'_id': 'f'})):
            s.start_transaction()
            self.fails(50791, 'Location50791', [], *write, session=s)
            self.is_gone(s)
        s.start_transaction()
        self.fails(50781, 'Location50781', [], self.db['system.js'].find_one_and_delete, {}, session=s)
        self.is_gone(s)


class StandaloneTest(Tests, Case):
    def test_a_concern_that_cannot_be_met(self):
        s = self.raw_session()
        s.begin()
        s.run('t', {'insert': 'c', 'documents': [{}]})
        self.refused(2, 'BadValue', [], s.ask, 'admin', {'commitTransaction': 1, 'writeConcern': {'w': 2}, **s.fields()})
        s.commit()
        self.assertEqual(self.c.count_documents({}), 1)


class ReplicaSetTest(Tests, Case):
    arguments = REPLICA_SET

    def test_a_concern_that_cannot_be_met(self):
        s = self.raw_session()
        s.begin()
        s.run('t', {'insert': 'c', 'documents': [{}]})
        with self.assertRaises(load.Failed) as caught:
            s.ask('admin', {'commitTransaction': 1, 'writeConcern': {'w': 2}, **s.fields()})
        reply = caught.exception.reply
        self.assertEqual((reply['ok'], reply['writeConcernError']['code'], reply['writeConcernError']['codeName'], reply.get('errorLabels', [])),
                         (1, 100, 'UnsatisfiableWriteConcern', []))
        self.assertEqual(self.c.count_documents({}), 1)


if __name__ == '__main__':
    unittest.main()
