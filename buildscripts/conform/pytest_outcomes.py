# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin for buildscripts/conformance. Each worker gets a server of its own, and one JSON file tells
what came of each test: {name: [outcome, detail, seconds]}.

A failure's detail has the whole chain of exceptions, the first cause last: an assertion about missing events
often hides the server's answer that explains it. Driver specification tests that ask for a method or an argument
that the driver does not have are not run; their detail says what the driver lacks, found in the driver's own
classes.

FRESHET_PORTS has a port for each worker, FRESHET_OUTCOMES the file to write, FRESHET_ONLY a part of a name,
FRESHET_TESTS a file with a JSON list of whole names, FRESHET_LOGIN says that clients must log in.
"""
import fnmatch
import gc
import inspect
import json
import os
import re

import pytest

DETAIL_MAX = 4000
LACKING = 'the driver has no '
# Arguments that the specifications know and that a driver may lack.
ARGUMENTS = {'rawData': 'raw_data'}
TARGETS = {'client': 'MongoClient', 'database': 'Database', 'collection': 'Collection', 'session': 'ClientSession'}


def use_own_server():
    ports = os.environ['FRESHET_PORTS'].split(',')
    worker = os.environ.get('PYTEST_XDIST_WORKER', 'gw0')
    os.environ['DB_PORT'] = ports[int(worker[2:])]


use_own_server()  # before the driver's test package reads it


def chain_of(error):
    """'Type: message' of the exception and of what it came from, one line each."""
    seen = []
    while error is not None and len(seen) < 8:
        seen.append('%s: %s' % (type(error).__name__, ' '.join(str(error).split())))
        error = error.__cause__ or error.__context__
    # The middle of a long message says least.
    return '\n'.join(line if len(line) < 1500 else line[:1000] + ' ... ' + line[-480:] for line in seen)[:DETAIL_MAX]


def left_out(test_class):
    """Whether the driver's own list of unimplemented tests has the file that the class was made of."""
    folder = getattr(test_class, 'TEST_PATH', None)
    script = os.path.join('.evergreen', 'remove-unimplemented-tests.sh')
    if folder is None or not os.path.exists(script):
        return False
    with open(script, encoding='utf-8') as lines:
        patterns = re.findall(r"^rm .*/([^/\s]+\.json)|-name '([^']+\.json)'", lines.read(), re.MULTILINE)
    for _, _, names in os.walk(folder):
        for name in names:
            unimplemented = any(fnmatch.fnmatch(name, one or other) for one, other in patterns)
            if unimplemented and test_class.__name__.lower().endswith(re.sub('[^a-z0-9]', '', name[:-len('.json')].lower())):
                return True
    return False


def snake(name):
    return re.sub('([A-Z])', lambda letter: '_' + letter[1].lower(), name)


def entities_in(node):
    """(kind, definition) of every entity that a test file or a test makes."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ('createEntities', 'entities') and isinstance(value, list):
                yield from ((kind, definition) for entity in value for kind, definition in entity.items())
            else:
                yield from entities_in(value)
    elif isinstance(node, list):
        for value in node:
            yield from entities_in(value)


def operations_in(node):
    """Every operation, also those inside loops, threads and callbacks."""
    if isinstance(node, dict):
        if 'name' in node and 'object' in node:
            yield node
        for value in node.values():
            yield from operations_in(value)
    elif isinstance(node, list):
        for value in node:
            yield from operations_in(value)


def lack_of(operation, kinds, runner, classes):
    """What the driver misses for an operation, or None."""
    kind = kinds.get(operation['object'])
    target = classes.get(kind)
    if target is None:
        return None
    name = operation['name']
    method = getattr(runner, '_%sOperation_%s' % (kind, name), None) or getattr(target, snake(name), None)
    special = {'iterateOnce', 'clientBulkWrite'}
    if method is None and name not in special:
        return 'method %s.%s' % (TARGETS[kind], snake(name))
    for argument, own in ARGUMENTS.items():
        if argument in operation.get('arguments', {}):
            real = getattr(target, snake(name), None)
            if real is not None and own not in inspect.signature(real).parameters:
                return 'argument %s of %s.%s' % (argument, TARGETS[kind], snake(name))
    return None


def lack_of_entity(kind, definition, classes):
    """The same for an entity's options."""
    if kind in ('database', 'collection') and 'timeoutMS' in definition.get(kind + 'Options', {}):
        parent, maker = {'database': ('client', 'get_database'), 'collection': ('database', 'get_collection')}[kind]
        if 'timeout' not in inspect.signature(getattr(classes[parent], maker)).parameters:
            return 'argument timeoutMS of %s.%s' % (TARGETS[parent], maker)
    return None


def lack_of_test(item):
    specification = getattr(item.cls, 'TEST_SPEC', None)
    if not isinstance(specification, dict):
        return None
    from pymongo import synchronous
    classes = {'client': synchronous.mongo_client.MongoClient, 'database': synchronous.database.Database,
               'collection': synchronous.collection.Collection, 'session': synchronous.client_session.ClientSession}
    for test in specification.get('tests', []):
        if item.name == 'test_' + test['description'].strip('. ').replace(' ', '_').replace('.', '_'):
            made = list(entities_in({'createEntities': specification.get('createEntities', []), 'test': test}))
            kinds = {definition['id']: kind for kind, definition in made if 'id' in definition}
            lacks = [lack_of_entity(kind, definition, classes) for kind, definition in made]
            lacks += [lack_of(operation, kinds, item.cls, classes) for operation in operations_in(test.get('operations', []))]
            return next((lack for lack in lacks if lack), None)
    return None


def name_of(nodeid):
    """`crud/TestCrudX.test_y` of `test_crud.py::TestCrudX::test_y`."""
    path, _, rest = nodeid.partition('::')
    path = re.sub(r'^test/|\.py$', '', path)
    path = re.sub(r'(^|/)test_', r'\1', path)
    return (path + '/' + rest.replace('::', '.')).replace(' ', '_')


class CleanStart:
    """No class of tests finds what another left, so that the order and the worker do not matter."""

    def __init__(self):
        self.before = None

    def start(self, item):
        if item.parent is self.before:
            return
        self.before = item.parent
        import pymongo
        name = dict(username='user', password='password') if os.environ.get('FRESHET_LOGIN') else {}
        with pymongo.MongoClient('localhost', int(os.environ['DB_PORT']), directConnection=True, **name) as client:
            try:
                for database in client.list_database_names():
                    if database not in ('admin', 'config', 'local'):
                        client.drop_database(database)
            except pymongo.errors.OperationFailure:
                pass  # the driver's tests make their user when the first one runs


class Outcomes:
    def __init__(self):
        self.of = {}

    def add(self, report):
        name = name_of(report.nodeid)
        detail = dict(report.user_properties).get('chain', '')
        seconds = round(self.of.get(name, ['', '', 0])[2] + report.duration, 2)
        if report.skipped:
            why = report.longrepr[2] if isinstance(report.longrepr, tuple) else getattr(report, 'wasxfail', '')
            outcome = ['skipped', str(why).replace('Skipped: ', '', 1)]
        elif report.failed:
            outcome = ['failed', detail or str(report.longrepr)[-DETAIL_MAX:]]
        else:
            outcome = ['passed', '']
        before = self.of.get(name, ['passed', ''])[:2]
        self.of[name] = (before if before[0] != 'passed' else outcome) + [seconds]


OUTCOMES = Outcomes()
CLEAN = CleanStart()


def pytest_configure():
    import pymongo
    # Some tests name no port.
    pymongo.MongoClient.PORT = pymongo.AsyncMongoClient.PORT = int(os.environ['DB_PORT'])


def pytest_collection_finish():
    # The driver's tests collect garbage after each test; what collecting the tests made stays anyway.
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    CLEAN.start(item)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    only = os.environ.get('FRESHET_ONLY')
    if only:
        items[:] = [item for item in items if only in name_of(item.nodeid)]
    if os.environ.get('FRESHET_TESTS'):
        with open(os.environ['FRESHET_TESTS'], encoding='utf-8') as names:
            wanted = set(json.load(names))
        items[:] = [item for item in items if name_of(item.nodeid) in wanted]
    for item in items:
        lack = lack_of_test(item)
        if lack:
            item.add_marker(pytest.mark.skip(reason=LACKING + lack))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed and call.excinfo is not None:
        note = '\nThe driver leaves this file out of its own tests' if left_out(item.cls) else ''
        report.user_properties.append(('chain', chain_of(call.excinfo.value) + note))
    return report


def pytest_runtest_logreport(report):
    OUTCOMES.add(report)


def pytest_sessionfinish(session):
    if 'PYTEST_XDIST_WORKER' not in os.environ:
        with open(os.environ['FRESHET_OUTCOMES'], 'w', encoding='utf-8') as out:
            json.dump(OUTCOMES.of, out, indent=0, sort_keys=True)
