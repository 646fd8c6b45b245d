# SPDX-License-Identifier: Apache-2.0
"""Certificates for tests that speak TLS, made by the openssl command, good for a day."""
import os
import shutil
import subprocess
import unittest


def openssl(directory, *arguments):
    subprocess.run(['openssl'] + list(arguments), cwd=directory, check=True, capture_output=True)


def make(directory):
    """An authority (ca.pem), certificates with keys for localhost (server.pem and client.pem), and lists of certificates that were taken
    back: none.crl is empty, server.crl has the server's."""
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
    with open(os.path.join(directory, 'ca.cnf'), 'w', encoding='ascii') as settings:
        settings.write('[ca]\ndefault_ca=own\n[own]\ndatabase=index\ndefault_md=sha256\ndefault_crl_days=1\n')
    with open(os.path.join(directory, 'index'), 'w', encoding='ascii'):
        pass
    authority = ['ca', '-config', 'ca.cnf', '-cert', 'ca.pem', '-keyfile', 'ca.key']
    openssl(directory, *authority, '-gencrl', '-out', 'none.crl')
    openssl(directory, *authority, '-revoke', 'server.crt')
    openssl(directory, *authority, '-gencrl', '-out', 'server.crl')
