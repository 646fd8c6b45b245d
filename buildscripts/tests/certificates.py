# SPDX-License-Identifier: Apache-2.0
"""Certificates for tests that speak TLS, made by the openssl command, good for a day."""
import os
import shutil
import subprocess
import unittest


def openssl(directory, *arguments):
    subprocess.run(['openssl'] + list(arguments), cwd=directory, check=True, capture_output=True)


def make(directory):
    """An authority (ca.pem), and certificates with keys for localhost: server.pem and client.pem."""
    if not shutil.which('openssl'):
        raise unittest.SkipTest('openssl is not here')
    openssl(directory, 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/O=Freshet/CN=authority',
            '-keyout', 'ca.key', '-out', 'ca.pem')
    with open(os.path.join(directory, 'names'), 'w', encoding='ascii') as names:
        names.write('subjectAltName=DNS:localhost,IP:127.0.0.1\n')
    for name in ('server', 'client'):
        openssl(directory, 'req', '-newkey', 'rsa:2048', '-nodes', '-subj', '/O=Freshet/CN=' + name, '-keyout', name + '.key',
                '-out', name + '.csr')
        openssl(directory, 'x509', '-req', '-in', name + '.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '1',
                '-extfile', 'names', '-out', name + '.crt')
        with open(os.path.join(directory, name + '.pem'), 'w', encoding='ascii') as both:
            for part in ('.crt', '.key'):
                with open(os.path.join(directory, name + part), encoding='ascii') as text:
                    both.write(text.read())
