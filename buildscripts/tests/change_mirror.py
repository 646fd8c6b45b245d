# SPDX-License-Identifier: Apache-2.0
"""What the events of a change stream make of empty collections: a copy that must be the same as the original, byte for byte."""
import harness

harness.import_pymongo()
import bson  # noqa: E402

IGNORED = ('createIndexes', 'dropIndexes', 'modify', 'dropDatabase')  # dropDatabase follows the drops of its collections


class Mirror:
    """{(database, collection): {key: document}}, as the events tell it."""

    def __init__(self):
        self.collections = {}

    def apply(self, event):
        kind = event['operationType']
        if kind in IGNORED:
            return
        place = (event['ns']['db'], event['ns'].get('coll'))
        if kind == 'create':
            assert place not in self.collections, event
            self.collections[place] = {}
        elif kind == 'drop':
            del self.collections[place]
        elif kind == 'rename':
            self.collections[(event['to']['db'], event['to']['coll'])] = self.collections.pop(place)
        else:
            self.change(kind, self.collections[place], event)

    @staticmethod
    def change(kind, documents, event):
        key = event['documentKey']['_id']
        assert (key in documents) == (kind != 'insert'), event
        if kind == 'delete':
            del documents[key]
        elif kind == 'update':
            update(documents[key], event['updateDescription'])
        else:
            documents[key] = event['fullDocument']

    def difference(self, stored):
        """The first of what is not as stored, {place: [document]}; None: all is."""
        for place in sorted(set(stored) | set(self.collections)):
            mirrored = {bson.encode(one) for one in self.collections.get(place, {}).values()}
            found = {bson.encode(one) for one in stored.get(place, ())}
            if (place in stored) != (place in self.collections) or mirrored != found:
                return '%s.%s: only in the events %.800s, only stored %.800s' % (
                    *place, [bson.decode(one) for one in list(mirrored - found)[:2]] if place in self.collections else 'nothing of it',
                    [bson.decode(one) for one in list(found - mirrored)[:2]] if place in stored else 'no such collection')
        return None


def update(document, description):
    for field in description['removedFields']:
        del document[field]
    for cut in description['truncatedArrays']:
        del document[cut['field']][cut['newSize']:]
    for path, value in description['updatedFields'].items():
        field, _, index = path.partition('.')
        if index and int(index) < len(document[field]):
            document[field][int(index)] = value
        elif index:
            document[field].append(value)
        else:
            document[field] = value
