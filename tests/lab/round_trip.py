# SPDX-License-Identifier: Apache-2.0
"""Round trips of a datagram: `serve` answers; an address sends 100 and prints the shortest, in us."""

import socket
import sys
import time

PORT = 9777


def serve():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("", PORT))
    print("serving", flush=True)
    while True:
        data, address = server.recvfrom(64)
        server.sendto(data, address)


def measure(address):
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.settimeout(5)
    client.connect((address, PORT))
    times = []
    for _ in range(100):
        begin = time.perf_counter()
        client.send(b"x")
        client.recv(64)
        times.append((time.perf_counter() - begin) * 1e6)
    print(min(times))


if sys.argv[1] == "serve":
    serve()
else:
    measure(sys.argv[1])
