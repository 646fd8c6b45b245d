# SPDX-License-Identifier: Apache-2.0
"""BSON and OP_MSG as bytes, for messages that no driver would make: encoders of drivers recurse, check and limit; this
one nests 300,000 levels without recursing, repeats names and lies when told to.

A value is None, bool, int, float, str, a list (an array), a Document or Raw bytes."""
import socket
import struct

MESSAGE_BYTES_MAX = 48_000_000


class Document(list):
    """Pairs of name and value, in their order; a name may come twice."""

    def __add__(self, other):
        return Document(list(self) + list(other))

    def __getitem__(self, at):
        found = super().__getitem__(at)
        return Document(found) if isinstance(at, slice) else found


class Raw:
    """A value that is encoded already."""

    def __init__(self, kind, data):
        self.kind, self.data = kind, data


class Long(int):
    """An int64, however small."""


class Date(int):
    """Milliseconds since 1970."""


def doc(*pairs, **more):
    return Document([tuple(pair) for pair in pairs] + list(more.items()))


def of_python(value):
    """A value of dictionaries as one of Documents."""
    if isinstance(value, dict):
        return Document((name, of_python(inner)) for name, inner in value.items())
    if isinstance(value, list) and not isinstance(value, Document):
        return [of_python(inner) for inner in value]
    return value


def name_bytes(name):
    return (name if isinstance(name, bytes) else name.encode('utf-8', 'surrogatepass')) + b'\0'


def encode(value):
    """The type's byte and the value's bytes. Recurses: for values that a person wrote, with Raw inside."""
    if isinstance(value, Raw):
        return value.kind, value.data
    if value is None:
        return 10, b''
    if isinstance(value, bool):
        return 8, b'\1' if value else b'\0'
    if isinstance(value, Date):
        return 9, struct.pack('<q', value)
    if isinstance(value, int):
        small = not isinstance(value, Long) and -2**31 <= value < 2**31
        return (16, struct.pack('<i', value)) if small else (18, struct.pack('<q', value))
    if isinstance(value, float):
        return 1, struct.pack('<d', value)
    if isinstance(value, str):
        data = name_bytes(value)
        return 2, struct.pack('<i', len(data)) + data
    if isinstance(value, bytes):
        return 5, struct.pack('<ib', len(value), 0) + value
    if isinstance(value, Document):
        return 3, document_bytes(value)
    if isinstance(value, list):
        return 4, document_bytes((str(i), member) for i, member in enumerate(value))
    raise TypeError(type(value))


def wrap(elements):
    return struct.pack('<i', len(elements) + 5) + elements + b'\0'


def document_bytes(pairs):
    parts = []
    for name, value in pairs:
        kind, data = encode(value)
        parts += (bytes((kind,)), name_bytes(name), data)
    return wrap(b''.join(parts))


def nest(levels, names=('a',), kind=3, inner=Raw(16, b'\1\0\0\0')):
    """`levels` documents (kind 3) or arrays (4) in each other, around `inner`; the names take turns."""
    heads = [name_bytes(name) for name in names]
    size, core = len(inner.data), bytes((inner.kind,))
    tails, prefixes = b'\0' * levels, []
    for i in range(levels):
        head = heads[(levels - 1 - i) % len(heads)]
        size += 4 + 1 + len(head) + 1
        prefixes.append(struct.pack('<i', size) + (core if i == 0 else bytes((kind,))) + head)
    prefixes.reverse()
    return Raw(kind, b''.join(prefixes) + inner.data + tails) if levels else inner


def self_nest(value, path, levels):
    """`value` with itself at `path`, and so on, `levels` times; at the innermost place `value` as it is."""
    kind, innermost = encode(value)
    prefix, suffix, slots = _around(value, path)
    size, prefixes = len(innermost), []
    constant = len(prefix) + len(suffix)
    for _ in range(levels):
        level = bytearray(prefix)
        for offset, base in slots:
            struct.pack_into('<i', level, offset, base + size)
        prefixes.append(bytes(level))
        size += constant
        if size > MESSAGE_BYTES_MAX:
            break
    prefixes.reverse()
    return Raw(kind, b''.join(prefixes) + innermost + suffix * len(prefixes))


def members_of(value):
    return list(value) if isinstance(value, Document) else [(str(i), member) for i, member in enumerate(value)]


def _around(value, path):
    """What stands before and behind the place at `path`; where before it lengths stand, and what each is without what
    is put there."""
    kind = encode(value)[0]
    prefix, behind, slots = b'', [], []
    for depth, at in enumerate(path):
        members = members_of(value)
        inner = kind if depth == len(path) - 1 else encode(members[at][1])[0]
        slots.append(len(prefix))
        prefix += b'\0\0\0\0' + document_bytes(members[:at])[4:-1] + bytes((inner,)) + name_bytes(members[at][0])
        behind.append(document_bytes(members[at + 1:])[4:])
        value = members[at][1]
    lengths = [(slot, len(prefix) - slot + sum(map(len, behind[depth:]))) for depth, slot in enumerate(slots)]
    return prefix, b''.join(reversed(behind)), lengths


def op_msg(document, more=b''):
    """An OP_MSG with an encoded command; `more`: sections behind it."""
    body = b'\0\0\0\0\0' + document + more
    return struct.pack('<iiii', 16 + len(body), 1, 0, 2013) + body


def message(*pairs, sequence=None):
    """An OP_MSG of one command; `sequence`: a name and documents that come in a section of their own."""
    more = b''
    if sequence:
        section = name_bytes(sequence[0]) + b''.join(encode(document)[1] for document in sequence[1])
        more = b'\1' + struct.pack('<i', 4 + len(section)) + section
    return op_msg(document_bytes(pairs), more)


def top_fields(data, wanted=('ok', 'code', 'codeName', 'errmsg', 'writeErrors', 'cursor', 'n')):
    """Some fields of a document that may nest deeper than decoders go; documents inside as Raw."""
    fixed = {1: 8, 6: 0, 7: 12, 8: 1, 9: 8, 10: 0, 16: 4, 17: 8, 18: 8, 19: 16, 255: 0, 127: 0}
    out, at = {}, 4
    while data[at] != 0:
        kind, end = data[at], data.index(0, at + 1)
        name, at = data[at + 1:end].decode('utf-8', 'replace'), end + 1
        if kind in fixed:
            size = fixed[kind]
        elif kind in (2, 13, 14):
            size = 4 + struct.unpack_from('<i', data, at)[0]
        elif kind == 5:
            size = 5 + struct.unpack_from('<i', data, at)[0]
        elif kind in (3, 4, 15):
            size = struct.unpack_from('<i', data, at)[0]
        else:
            raise ValueError('type %d in a reply' % kind)
        if name in wanted:
            value = data[at:at + size]
            unpack = {1: '<d', 16: '<i', 18: '<q', 8: '<?'}.get(kind)
            out[name] = (struct.unpack(unpack, value)[0] if unpack else value[4:-1].decode('utf-8', 'replace') if kind == 2
                         else Raw(kind, value))
        at += size
    return out


class Connection:
    """One socket to a server; ask() gives a reply's fields, None when the server hung up."""

    def __init__(self, port, seconds=20):
        self.port, self.seconds, self.socket = port, seconds, None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.socket is not None:
            self.socket.close()
            self.socket = None

    def send(self, raw):
        if self.socket is None:
            self.socket = socket.create_connection(('127.0.0.1', self.port), self.seconds)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.settimeout(self.seconds)
        self.socket.sendall(raw)

    def receive(self):
        """A message's bytes; None when the server hung up. TimeoutError after `seconds`."""
        head = self._exactly(16)
        return head and self._exactly(struct.unpack_from('<i', head)[0] - 16)

    def _exactly(self, count):
        parts = []
        while count > 0:
            part = self.socket.recv(min(count, 1 << 20))
            if not part:
                return None
            parts.append(part)
            count -= len(part)
        return b''.join(parts)

    def ask_bytes(self, raw):
        try:
            self.send(raw)
            body = self.receive()
        except ConnectionError:
            body = None
        except TimeoutError:
            self.close()
            raise
        if body is None:
            self.close()
        return body and body[5:]

    def ask(self, raw):
        data = self.ask_bytes(raw)
        return None if data is None else top_fields(data)

    def command(self, *pairs, db='admin'):
        return self.ask(message(*pairs, ('$db', db)))
