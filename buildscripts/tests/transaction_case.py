# SPDX-License-Identifier: Apache-2.0
"""What the tests of transactions share: a server for each class, sessions with a transaction begun, and answers held against codes,
names and labels."""
import unittest

import harness
import transaction_load as load

pymongo = harness.import_pymongo()

TRANSIENT = ['TransientTransactionError']
ARGUMENTS = ['--setParameter', 'enableTestCommands=1']
REPLICA_SET = ARGUMENTS + ['--replSet', 'rs0']


class Case(unittest.TestCase):
    arguments = ARGUMENTS

    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server(arguments=cls.arguments).start()
        cls.addClassCleanup(cls.server.__exit__)
        cls.client = pymongo.MongoClient(cls.server.uri)
        cls.addClassCleanup(cls.client.close)

    def setUp(self):
        self.client.drop_database('t')
        self.db, self.c = self.client.t, self.client.t.c

    def session(self, **options):
        """A session with a transaction begun."""
        session = self.client.start_session()
        self.addCleanup(session.end_session)
        session.start_transaction(**options)
        return session

    def raw_session(self, server=None):
        """A session over a socket, for commands that the driver would not send."""
        session = load.Session((server or self.server).port)
        self.addCleanup(session.wire.close)
        return session

    def fails(self, code, name, labels, function, *args, **options):
        """Checks the code, the name and the labels of the error."""
        with self.assertRaises(pymongo.errors.PyMongoError) as caught:
            function(*args, **options)
        details = caught.exception.details
        self.assertEqual((details.get('code'), details.get('codeName'), details.get('errorLabels', [])), (code, name, labels), details)
        return details

    def fails_in_a_write(self, code, function, *args, **options):
        """Checks the code of an error in the reply's writeErrors, which has no label."""
        with self.assertRaises((pymongo.errors.WriteError, pymongo.errors.BulkWriteError)) as caught:
            function(*args, **options)
        details = caught.exception.details
        error = details['writeErrors'][0] if 'writeErrors' in details else details
        self.assertEqual((error['code'], caught.exception.has_error_label('TransientTransactionError')), (code, False))
        return error

    def is_gone(self, session):
        """The transaction was aborted by the server."""
        self.fails(251, 'NoSuchTransaction', TRANSIENT, session.commit_transaction)

    def fail_point(self, mode, **data):
        self.client.admin.command({'configureFailPoint': 'failCommand', 'mode': mode, 'data': data})
        self.addCleanup(self.client.admin.command, {'configureFailPoint': 'failCommand', 'mode': 'off'})

    def refused(self, code, name, labels, run, *args):
        with self.assertRaises(load.Failed) as caught:
            run(*args)
        reply = caught.exception.reply
        self.assertEqual((reply.get('code'), reply.get('codeName'), reply.get('errorLabels', [])), (code, name, labels), reply)
        return reply['errmsg']

    def names(self):
        return sorted(self.db.list_collection_names())
