"""A served model under a crowd: clients that ask a line after another, and what they wait.

  python benchmarks/bench_serving.py MODEL LINES [--clients 100] [--seconds 60]

MODEL is a folder of 'luthier train', LINES a file of text in its source language. Each client has a connection of its
own; it comes again when it is told to. All is on this machine, so the clients take their share of the processor.
"""

import argparse
import asyncio
import json
import sys
import threading
from pathlib import Path

import numpy as np

from luthier.jobs.trained_model import TranslationModel
from luthier.jobs.translate import Wanted
from luthier.serving.service import Service
from luthier.serving.translator import Translator


async def reply_of(reader):
    """Return the status of a reply, and when to come again."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
    fields = dict(line.split(": ", 1) for line in head[1:] if ": " in line)
    await reader.readexactly(int(fields["content-length"]))
    return int(head[0].split()[1]), float(fields.get("retry-after", 0))


async def client(port, lines, first, end, found):
    """Ask until the time is over; note each status with the time it took."""
    clock = asyncio.get_running_loop().time
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    number = first
    while clock() < end:
        body = json.dumps({"text": lines[number % len(lines)]}).encode()
        head = f"POST /translate HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
        begun = clock()
        writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        status, later = await reply_of(reader)
        found.append((status, clock() - begun))
        number += 1
        if later:  # a connection that waits for longer than ten seconds would be closed
            writer.close()
            await asyncio.sleep(min(later, max(0.0, end - clock())))
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.close()


async def crowd(port, lines, clients, seconds):
    found = []
    end = asyncio.get_running_loop().time() + seconds
    await asyncio.gather(*(client(port, lines, i * 37, end, found) for i in range(clients)))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("lines", type=Path)
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    lines = options.lines.read_text("utf-8").splitlines()
    translator = Translator(TranslationModel.open(options.model), threads=2)
    translator.ask(["."], Wanted()).result()
    service = Service(translator)
    thread = threading.Thread(target=service.run)
    thread.start()
    try:
        found = asyncio.run(crowd(service.port, lines, options.clients, options.seconds))
    finally:
        service.stop()
        thread.join()
    counts = {status: sum(s == status for s, _ in found) for status in sorted({s for s, _ in found})}
    waited = [took for status, took in found if status == 200]
    rate = len(waited) / options.seconds
    print(f"{options.clients} clients, {options.seconds:g} s: {counts}, {rate:.1f} lines/s")
    shares = ", ".join(f"{share} % within {np.percentile(waited, share):.2f} s" for share in (50, 95, 100))
    print(f"answered: {shares}; refused after {np.mean([took for s, took in found if s == 429] or [0]):.3f} s")
    return 0 if set(counts) <= {200, 429} else 1


if __name__ == "__main__":
    sys.exit(main())
