# SPDX-License-Identifier: Apache-2.0
"""The programs by mongodb+srv:// names, with a DNS server on loopback. The names end in 0.1: "127.0.0.1" is then a host of
that domain, and one that needs no DNS to be found."""
import os
import socketserver
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import certificates  # noqa: E402
import driver_shell_test as shell_test  # noqa: E402
import harness  # noqa: E402

TXT, SRV = 16, 33
SECONDS = 60


def name_bytes(name):
    return b''.join(struct.pack('B', len(part)) + part.encode() for part in name.split('.')) + b'\0'


def service(host, port):
    return struct.pack('>HHH', 0, 0, port) + name_bytes(host)


def text(*parts):
    return b''.join(struct.pack('B', len(part)) + part.encode() for part in parts)


class Dns(socketserver.ThreadingUDPServer):
    """Answers from {(name, type): [data]}; whose zone is None never does. Use as a context manager."""
    daemon_threads = True

    def __init__(self, zone):
        super().__init__(('127.0.0.1', 0), None)
        self.zone, self.asked = zone, threading.Event()
        self.thread = threading.Thread(target=self.serve_forever, daemon=True)

    def finish_request(self, request, client_address):
        query, socket = request
        self.asked.set()
        if self.zone is None:
            return
        at, labels = 12, []
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode())
            at += 1 + query[at]
        found = self.zone.get(('.'.join(labels), struct.unpack_from('>H', query, at + 1)[0]), [])
        reply = query[:2] + struct.pack('>HHHHH', 0x8180, 1, len(found), 0, 0) + query[12:]
        kind = query[at + 1:at + 5]
        for data in found:
            reply += b'\xc0\x0c' + kind + struct.pack('>IH', 60, len(data)) + data
        socket.sendto(reply, client_address)

    @property
    def address(self):
        return '127.0.0.1:%d' % self.server_address[1]

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.thread.join()
        self.server_close()


class SrvTest(unittest.TestCase):
    def serve(self, *arguments):
        return self.enterContext(harness.Server(arguments=arguments))

    def dns(self, server, *texts):
        zone = {('_mongodb._tcp.db.0.1', SRV): [service('127.0.0.1', server.port)], ('db.0.1', TXT): list(texts)}
        return self.enterContext(Dns(zone))

    def run_program(self, dns, name, *arguments, code=0, stdin=''):
        done = subprocess.run([harness.program(name)] + list(arguments), capture_output=True, text=True, timeout=SECONDS,
                              input=stdin, env=dict(os.environ, FRESHET_DNS_SERVERS=dns.address))
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def shell(self, dns, uri, *arguments, code=0):
        return self.run_program(dns, 'freshet', '--quiet', '--norc', uri, *arguments, code=code)

    def test_the_shell_finds_the_server(self):
        server = self.serve()
        dns = self.dns(server)
        self.assertIn('"ok"', self.shell(dns, 'mongodb+srv://db.0.1/?tls=false', '--ping').stdout)
        said = self.shell(dns, 'mongodb+srv://db.0.1/shop?tls=false', '--eval',
                          'db.c.insertOne({_id: 1}); print(db.getMongo().getURI(), db.c.countDocuments({}))').stdout
        self.assertEqual(said.strip(), 'mongodb://127.0.0.1:%d/shop 1' % server.port)
        with server.client() as client:
            self.assertEqual(client.shop.c.count_documents({}), 1)
        said = self.shell(dns, '--nodb', '--eval', 'connect("mongodb+srv://db.0.1/shop?tls=false").c.findOne()._id').stdout
        self.assertEqual(said.strip(), '1')

    def test_tls_is_meant_unless_it_is_said_not_to_be(self):
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix='freshet-tls-'))
        certificates.make(folder)
        server = self.serve('--tlsMode', 'preferTLS', '--tlsCertificateKeyFile', os.path.join(folder, 'server.pem'))
        dns = self.dns(server)
        self.shell(dns, 'mongodb+srv://db.0.1/', '--tlsCAFile', os.path.join(folder, 'ca.pem'), '--ping')
        said = self.shell(dns, 'mongodb+srv://db.0.1/', '--ping', code=1).stderr
        self.assertIn('certificate', said)
        self.shell(dns, 'mongodb+srv://db.0.1/?tls=false', '--ping')

    def test_the_text_says_where_the_user_is(self):
        server = self.serve('--auth')
        with server.client() as client:
            client.admin.command('createUser', 'root', pwd='secret', roles=['root'])
        with server.client(username='root', password='secret') as client:
            client.people.command('createUser', 'ann', pwd='ann', roles=['readWrite'])
        dns = self.dns(server, text('authSou', 'rce=people'))
        self.shell(dns, 'mongodb+srv://ann:ann@db.0.1/people?tls=false', '--eval', 'db.c.insertOne({})')
        self.shell(dns, 'mongodb+srv://ann:ann@db.0.1/?tls=false', '--eval', 'db.getSiblingDB("people").c.insertOne({})')
        self.shell(dns, 'mongodb+srv://ann:ann@db.0.1/?tls=false&authSource=admin', '--ping', code=1)

    def test_what_dns_may_not_say(self):
        server = self.serve()
        said = self.shell(self.dns(server, text('tls=false')), 'mongodb+srv://db.0.1/', '--ping', code=1).stderr
        self.assertIn("mongodb+srv://db.0.1: its TXT record has the option 'tls'", said)
        elsewhere = self.enterContext(Dns({('_mongodb._tcp.db.0.1', SRV): [service('127.0.0.2', server.port)]}))
        said = self.shell(elsewhere, 'mongodb+srv://db.0.1/?tls=false', '--ping', code=1).stderr
        self.assertIn('127.0.0.2, which is not in the domain 0.1', said)

    def test_names_and_servers_that_are_not_there(self):
        with Dns({}) as nothing:
            said = self.shell(nothing, 'mongodb+srv://db.0.1/', '--ping', code=1).stderr
            self.assertIn('no SRV records', said)
        with Dns(None) as silent:
            said = self.shell(silent, 'mongodb+srv://db.0.1/?connectTimeoutMS=300', '--ping', code=1).stderr
            self.assertIn('no answer from DNS', said)
            self.assertTrue(silent.asked.is_set())

    def test_ctrl_c_ends_the_question(self):
        server = self.serve()
        with Dns(None) as silent:
            home = self.enterContext(tempfile.TemporaryDirectory(prefix='freshet-home-'))
            os.environ['FRESHET_DNS_SERVERS'] = silent.address
            self.addCleanup(os.environ.pop, 'FRESHET_DNS_SERVERS')
            shell = shell_test.Terminal(self, home, server.uri, '--quiet', '--norc')
            shell.until(b'test> ')
            shell.type('connect("mongodb+srv://db.0.1/?connectTimeoutMS=600000")\n')
            self.assertTrue(silent.asked.wait(SECONDS))
            shell.type(shell_test.CTRL_C)
            shell.until(b'interrupted')
            shell.until(b'test> ')
            shell.ask('db.runCommand({ping: 1}).ok', '1')
            self.assertEqual(shell.leave(), 0)

    def test_the_benchmark_finds_the_server(self):
        harness.need('freshet-bench')
        server = self.serve()
        self.run_program(self.dns(server), 'freshet-bench', 'gridfs', 'put', 'a', '--uri', 'mongodb+srv://db.0.1/files?tls=false',
                         stdin='content')
        with server.client() as client:
            self.assertEqual(client.files['fs.files'].find_one()['length'], 7)


if __name__ == '__main__':
    unittest.main(verbosity=2)
