# SPDX-License-Identifier: Apache-2.0
"""Inputs that a server must take in its stride: paths of many parts and documents that would nest too deeply are refused,
nothing that parses is worse than n log n, and while such inputs run others are served, time limits, killOp and SIGTERM
work. Growth is measured in processor time, which a busy machine does not change; other limits are generous here, the
soak prints what a quiet machine does."""
import os
import signal
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

harness.import_pymongo()
from generated_attacks import path_of  # noqa: E402
from generated_runs import CPU_FLOOR, GROWTH_MAX  # noqa: E402
from generated_server import Target  # noqa: E402
from generator import DB  # noqa: E402
from heavy_inputs import INPUTS, prepare  # noqa: E402
from raw_bson import Connection, doc, message, nest  # noqa: E402

OVERFLOW = 15
PARTS_MAX = 200
PING_SECONDS = 1.0       # of a bystander, here; 0.1 on a quiet machine
ANSWER_SECONDS = 20
STOP_SECONDS = 20
TIME_LIMIT_MS, TIME_LIMIT_CPU = 50, 0.3  # of each, and what processor time it may take
AT_ONCE = 4


def depth_of(data):
    """How deep the bytes of a document nest; does not recurse."""
    import bson
    deepest, waiting = 1, [(bson.raw_bson.RawBSONDocument(data), 1)]
    while waiting:
        document, level = waiting.pop()
        deepest = max(deepest, level)
        for value in document.values():
            for inner in value if isinstance(value, list) else [value]:
                if isinstance(inner, bson.raw_bson.RawBSONDocument):
                    waiting.append((inner, level + 1 + isinstance(value, list)))
    return deepest


class HeavyTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.target = Target(seconds=ANSWER_SECONDS)
        cls.addClassCleanup(cls.target.__exit__)
        cls.target.start()

    def setUp(self):
        prepare(self.ask)

    def ask(self, *pairs):
        return self.target.connection.command(*pairs, db=DB)

    def send(self, *pairs):
        outcome = self.target.send(message(*pairs, ('$db', DB)))
        if outcome.is_bad:
            prepare(self.ask)
        return outcome


class PathsTest(HeavyTest):
    """Paths of more than 200 parts."""

    @staticmethod
    def placed(path):
        """The path wherever a command takes one, but in filters, indexes and sorts, by what it stands in."""
        def stage(**spec):
            name, value = next(iter(spec.items()))
            return lambda c: [('aggregate', c), ('pipeline', [doc(('$' + name, value))]), ('cursor', doc())]

        def find(value):
            return lambda c: [('find', c), ('projection', doc((path, value)))]

        def update(u, **more):
            return lambda c: [('update', c), ('updates', [doc(q=doc(), u=u, **more)])]
        return {
            '$addFields': stage(addFields=doc((path, 1))), '$set': stage(set=doc((path, '$y'))), '$project computed': stage(project=doc((path, '$y'))),
            '$project included': stage(project=doc((path, 1))), '$project excluded': stage(project=doc((path, 0))), '$unset': stage(unset=path),
            '$unset of several': stage(unset=['y', path]), '$unwind': stage(unwind='$' + path), '$group': stage(group=doc(('_id', '$' + path))),
            'field in an expression': stage(project=doc(y='$' + path)), 'variable': stage(project=doc(y='$$ROOT.' + path)),
            '$unwind index': stage(unwind=doc(path='$y', includeArrayIndex=path)),
            '$lookup as': stage(lookup=doc(('from', 'heavy'), ('localField', 'y'), ('foreignField', 'y'), ('as', path))),
            '$lookup localField': stage(lookup=doc(('from', 'heavy'), ('localField', path), ('foreignField', 'y'), ('as', 'z'))),
            'find included': find(1), 'find excluded': find(0), 'find literal': find(doc(('$literal', 1))), 'find slice': find(doc(('$slice', 1))),
            'find computed': find('$y'),
            'findAndModify fields': lambda c: [('findAndModify', c), ('query', doc()), ('update', doc(('$set', doc(z=1)))), ('fields', doc((path, 1)))],
            'update $set': update(doc(('$set', doc((path, 1))))), 'update $unset': update(doc(('$unset', doc((path, 1))))),
            'update $rename': update(doc(('$rename', doc(y=path)))), 'update pipeline $set': update([doc(('$set', doc((path, 1))))]),
            'update pipeline $unset': update([doc(('$unset', path))]), 'update pipeline $project': update([doc(('$project', doc((path, 1))))]),
            'update $setOnInsert': update(doc(('$setOnInsert', doc((path, 1)))), upsert=True),
        }

    def test_no_path_ends_the_server_and_more_than_200_parts_are_refused(self):
        wrong = []
        for parts in (PARTS_MAX + 1, 28_000, 300_000):
            for place, make in self.placed(path_of(parts)).items():
                for collection in ('heavy', 'missing'):
                    outcome = self.send(*make(collection))
                    if outcome.kind != 'error' or outcome.code != OVERFLOW:
                        wrong.append('%s of %d parts on %s: %s' % (place, parts, collection, outcome))
        self.assertEqual([], wrong, '\n' + '\n'.join(wrong))

    def test_paths_of_nested_documents_count_as_a_whole(self):
        """{a.a.a: {a.a.a: ...}} is a path of all parts."""
        wrong = []
        for levels, parts in ((3, 100), (100, 300), (80, 2_000)):
            spec = nest(levels, (path_of(parts),))
            for stage in ('$addFields', '$project', '$set'):
                outcome = self.send(('aggregate', 'heavy'), ('pipeline', [doc((stage, spec))]), ('cursor', doc()))
                if (outcome.kind, outcome.code) != ('error', OVERFLOW):
                    wrong.append('%s %d x %d: %s' % (stage, levels, parts, outcome))
            outcome = self.send(('find', 'heavy'), ('projection', spec))
            if (outcome.kind, outcome.code) != ('error', OVERFLOW):
                wrong.append('find %d x %d: %s' % (levels, parts, outcome))
        self.assertEqual([], wrong, '\n' + '\n'.join(wrong))

    def test_filters_and_indexes_take_long_paths_or_refuse_them(self):
        for parts in (PARTS_MAX, PARTS_MAX + 1, 28_000, 300_000):
            path = path_of(parts)
            for make in ([('find', 'heavy'), ('filter', doc((path, 1)))], [('find', 'heavy'), ('sort', doc((path, 1)))],
                         [('find', 'heavy'), ('filter', doc((path, doc(('$elemMatch', doc((path, 1)))))))],
                         [('distinct', 'heavy'), ('key', path)], [('createIndexes', 'indexed'), ('indexes', [doc(key=doc((path, 1)), name='long')])],
                         [('create', 'made'), ('validator', doc((path, 1)))], [('count', 'heavy'), ('query', doc((path, doc(('$exists', True)))))]):
                with self.subTest(parts=parts, command=make[0][0]):
                    outcome = self.send(*make)
                    self.assertFalse(outcome.is_bad, outcome)

    def test_paths_of_200_parts_are_taken(self):
        for place, make in self.placed(path_of(PARTS_MAX)).items():
            # What would be stored may nest deeper than documents may; see DepthTest.
            if place in ('find included', 'find excluded', '$project included', '$project excluded', '$unset', 'field in an expression', '$unwind'):
                with self.subTest(place):
                    self.assertEqual(self.send(*make('heavy')).kind, 'ok')


class DepthTest(HeavyTest):
    """Whatever is stored nests no deeper than what may be inserted, whichever way it comes."""
    WIDE = 40  # parts of each path

    def deepest_insertable(self):
        least, most = 1, 400
        while least < most:
            middle = (least + most + 1) // 2
            # As drivers send them: not inside the command, which counts.
            outcome = self.target.send(message(('insert', 'deepest'), ('$db', DB), sequence=('documents', [doc(a=nest(middle - 1))])))
            least, most = (middle, most) if outcome.kind == 'ok' else (least, middle - 1)
        return least

    def deepest_stored(self, collection):
        client = self.target.server.client()
        try:
            import bson
            from bson.codec_options import CodecOptions
            raw = client[DB].get_collection(collection, CodecOptions(document_class=bson.raw_bson.RawBSONDocument))
            return max((depth_of(document.raw) for document in raw.find()), default=0)
        finally:
            client.close()

    def ways(self):
        """Ways to make documents deeper and deeper: what to send again and again, and where it ends up."""
        path = path_of(self.WIDE)
        deeper = doc(('$set', doc((path, '$a'))))
        wrap = doc(('$replaceWith', doc((path_of(1), doc(b='$$ROOT')))))
        stages = [doc(('$set', doc(a=doc(a='$$ROOT'))))] * 150
        return {
            '$out': ([('aggregate', 'deep'), ('pipeline', stages + [doc(('$out', 'deep'))]), ('cursor', doc())], 'deep'),
            '$out of a path': ([('aggregate', 'deep'), ('pipeline', [doc(('$set', doc((path_of(1_000), 1)))), doc(('$out', 'deep'))]), ('cursor', doc())], 'deep'),
            '$merge': ([('aggregate', 'deep'), ('pipeline', stages + [doc(('$merge', doc(into='deep')))]), ('cursor', doc())], 'deep'),
            '$merge by pipeline': ([('aggregate', 'deep'), ('pipeline', [doc(('$merge', doc(
                into='deep', whenMatched=[doc(('$set', doc(a=doc(b='$$new'))))])))]), ('cursor', doc())], 'deep'),
            'update pipeline': ([('update', 'deep'), ('updates', [doc(q=doc(), u=[deeper])])], 'deep'),
            'replaceWith in an update': ([('update', 'deep'), ('updates', [doc(q=doc(), u=[wrap, doc(('$set', doc(('_id', 0))))])])], 'deep'),
            'findAndModify': ([('findAndModify', 'deep'), ('query', doc()), ('update', [deeper])], 'deep'),
            '$rename': ([('update', 'deep'), ('updates', [doc(q=doc(), u=doc(('$rename', doc(a='b.' + path)))),
                                                          doc(q=doc(), u=doc(('$rename', doc(b='a'))))])], 'deep'),
            '$set': ([('update', 'deep'), ('updates', [doc(q=doc(), u=doc(('$set', doc((path_of(150), nest(100))))))])], 'deep'),
            '$push': ([('update', 'deep'), ('updates', [doc(q=doc(), u=doc(('$push', doc((path_of(150, 'p'), nest(100))))))])], 'deep'),
            'upsert': ([('update', 'deep'), ('updates', [doc(q=doc((path_of(150, 'q'), nest(100))), u=doc(('$set', doc(y=1))), upsert=True)])], 'deep'),
        }

    def test_nothing_deeper_than_inserts_is_stored(self):
        most, wrong = self.deepest_insertable(), []
        for way, (pairs, collection) in self.ways().items():
            self.ask(('drop', 'deep'))
            self.ask(('insert', 'deep'), ('documents', [doc(('_id', 0), ('a', 1))]))
            outcome = next((outcome for outcome in (self.send(*pairs) for _ in range(200)) if outcome.kind != 'ok'), None)
            if outcome is None or (outcome.kind, outcome.code) != ('error', OVERFLOW):
                wrong.append('%s: %s' % (way, outcome or 'never refused'))
            deepest = 0 if outcome is not None and outcome.is_bad else self.deepest_stored(collection)
            if deepest > most:
                wrong.append('%s: stored %d levels, inserts may have %d' % (way, deepest, most))
        self.assertEqual([], wrong, '\n' + '\n'.join(wrong))


class GrowthTest(HeavyTest):
    """Each of the inputs with a quarter of its size and with all of it."""

    def measured(self, one, n):
        if one.prepare:
            one.prepare(self.ask, n)
        raw, least = one.message(n), None
        for _ in range(3):
            outcome = self.target.send(raw)
            if outcome.is_bad:
                prepare(self.ask)
                return outcome
            least = outcome if least is None or outcome.cpu < least.cpu else least
            if one.name == 'createIndexes':
                break  # the second time they are there
        return least

    def test_nothing_is_worse_than_n_log_n(self):
        wrong = []
        for one in (one for one in INPUTS if not one.limit_ms):
            small = self.measured(one, one.n // 4)
            large = small if small.is_bad else self.measured(one, one.n)
            print('%-16s n %7d: %.3f s, %7d: %.3f s%s' % (one.name, one.n // 4, small.cpu, one.n, large.cpu, ' ' + large.text if large.text else ''))
            if large.is_bad:
                wrong.append('%s: %s' % (one.name, large))
            elif large.cpu > GROWTH_MAX * max(small.cpu, CPU_FLOOR):
                wrong.append('%s: %.3f s with %d, %.3f s with %d' % (one.name, small.cpu, one.n // 4, large.cpu, one.n))
        self.assertEqual([], wrong, '\n' + '\n'.join(wrong))


class Crowd:
    """Threads that send one input again and again, each on its own connection."""

    def __init__(self, port, raw, count=AT_ONCE):
        self.stopping, self.answers, self.raw, self.port = threading.Event(), [], raw, port
        self.threads = [threading.Thread(target=self.work) for _ in range(count)]

    def work(self):
        with Connection(self.port, 60) as connection:
            while not self.stopping.is_set():
                try:
                    self.answers.append(connection.ask(self.raw))
                except OSError:
                    return

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for thread in self.threads:
            thread.join()


class BystanderTest(HeavyTest):
    """Others while each of the inputs runs on several connections."""

    def pings(self, seconds):
        """The worst time that somebody new waits for an answer."""
        worst, until = 0.0, time.monotonic() + seconds
        while time.monotonic() < until:
            before = time.monotonic()
            with Connection(self.target.server.port, ANSWER_SECONDS) as stranger:
                self.assertEqual(stranger.command(('ping', 1))['ok'], 1)
            worst = max(worst, time.monotonic() - before)
            time.sleep(0.005)
        return worst

    def recover(self, seconds=60):
        """Waits until what was sent is done; a server that is stuck is started again."""
        try:
            with Connection(self.target.server.port, seconds) as stranger:
                stranger.command(('ping', 1))
        except OSError:
            self.target.restart()
            prepare(self.ask)

    def test_a_bystander_is_served(self):
        wrong, seconds = [], float(os.environ.get('FRESHET_PING_SECONDS', '0.7'))
        for one in INPUTS:
            if one.prepare:
                one.prepare(self.ask, one.n)
            try:
                with Crowd(self.target.server.port, one.message()):
                    worst = self.pings(seconds)
            except (OSError, AssertionError):
                worst = float(ANSWER_SECONDS)
            print('worst ping during 4 x %-16s %6.1f ms' % (one.name, worst * 1000))
            if worst > PING_SECONDS:
                wrong.append('%s: %.3f s' % (one.name, worst))
            self.recover()
        self.assertEqual([], wrong, '\n' + '\n'.join(wrong))

    def test_a_time_limit_holds(self):
        wrong = []
        for one in INPUTS:
            if one.prepare:
                one.prepare(self.ask, one.n)
            outcome = self.target.send(one.message(None, ('maxTimeMS', TIME_LIMIT_MS)))
            # Some are done within their time, some are refused for what they are.
            if outcome.is_bad or outcome.kind == 'ok' and outcome.cpu > TIME_LIMIT_CPU or outcome.seconds > PING_SECONDS + 1:
                wrong.append('%s: %s' % (one.name, outcome))
            if outcome.is_bad:
                prepare(self.ask)
        self.assertEqual([], wrong, '\n' + '\n'.join(wrong))

    def test_killOp_ends_them(self):
        wrong = []
        for one in INPUTS:
            if one.prepare:
                one.prepare(self.ask, one.n)
            seconds = self.seconds_to_kill(one)
            if seconds is None or seconds > PING_SECONDS + 1:
                wrong.append('%s: %s' % (one.name, 'no answer' if seconds is None else '%.3f s' % seconds))
                self.recover()
        self.assertEqual([], wrong, '\n' + '\n'.join(wrong))

    def seconds_to_kill(self, one):
        """How long the input is there after all that is shown of it was killed; None when it does not end."""
        with Connection(self.target.server.port, ANSWER_SECONDS) as victim, Connection(self.target.server.port, ANSWER_SECONDS) as killer:
            victim.send(one.message(None, ('comment', 'heavy')))
            before = time.monotonic()
            killing = threading.Thread(target=self.kill_heavy, args=(killer,))
            killing.start()
            try:
                victim.receive()
            except OSError:
                return None
            finally:
                killing.join()
            return time.monotonic() - before

    @staticmethod
    def kill_heavy(connection):
        import bson
        for _ in range(3):
            try:
                reply = bson.decode(connection.ask_bytes(message(('currentOp', 1), ('$db', 'admin'))))
                for operation in reply['inprog']:
                    if operation.get('command', {}).get('comment') == 'heavy':
                        connection.command(('killOp', 1), ('op', operation['opid']))
            except OSError:
                return
            time.sleep(0.02)

    def test_sigterm_ends_the_server_during_them(self):
        wrong = []
        for one in INPUTS:
            if one.prepare:
                one.prepare(self.ask, one.n)
            with Crowd(self.target.server.port, one.message()) as crowd:
                time.sleep(0.3)
                before = time.monotonic()
                self.target.server.process.send_signal(signal.SIGTERM)
                try:
                    code = self.target.server.process.wait(STOP_SECONDS)
                except Exception:  # noqa: BLE001
                    code = None
                    self.target.server.kill()
                seconds = time.monotonic() - before
                crowd.stopping.set()
            print('SIGTERM during 4 x %-16s %6.1f ms' % (one.name, seconds * 1000))
            if code != 0:
                wrong.append('%s: %s after %.1f s' % (one.name, code, seconds))
            self.target.restart()
            prepare(self.ask)
        self.assertEqual([], wrong, '\n' + '\n'.join(wrong))


del HeavyTest  # the others' base, no tests of its own

if __name__ == '__main__':
    unittest.main(verbosity=2)
