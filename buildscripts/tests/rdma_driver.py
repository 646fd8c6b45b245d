# SPDX-License-Identifier: Apache-2.0
"""Writes as a driver does, over some connections at a time and without a driver's threads, until it is killed: rdma_kills_test.py
needs many of it. Says "round" when each connection had its turn. Arguments: port, connections, seed."""
import random
import socket
import struct
import sys

import bson


def main():
    port, connections, source = int(sys.argv[1]), int(sys.argv[2]), random.Random(sys.argv[3])
    sockets = [socket.create_connection(('127.0.0.1', port)) for _ in range(connections)]
    while True:
        for number, one in enumerate(sockets):
            body = bson.encode({'update': 'c', '$db': 'shop', 'updates': [
                {'q': {'_id': source.randrange(50)}, 'u': {'$set': {'pad': 'y' * source.randrange(100000)}}, 'upsert': True}]})
            one.sendall(struct.pack('<iiiiiB', 21 + len(body), number, 0, 2013, 0, 0) + body)
            if not one.recv(65536):
                raise SystemExit('the connection was ended')
        print('round', flush=True)


if __name__ == '__main__':
    main()
