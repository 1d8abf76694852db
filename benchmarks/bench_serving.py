"""A served model under a crowd: clients that ask a line after another, and what they wait.

  python benchmarks/bench_serving.py [MODEL LINES] [--clients 100] [--seconds 60]

MODEL is a folder of 'luthier train', LINES a file of text in its source language; without them one is trained on 2,000
synthetic pairs, and asked for ten seconds. Each client has a connection of its own; it comes again when it is told to.
All is on this machine, so the clients take their share of the processor.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np

from luthier.jobs.trained_model import TranslationModel
from luthier.jobs.translate import Wanted
from luthier.serving.service import Service
from luthier.serving.translator import Translator

SETTINGS = """
[corpus]
source = "corpus/train.source.txt"
target = "corpus/train.refs.0.txt"
[tune]
source = "corpus/tune.source.txt"
refs = "corpus/tune.refs.0.txt"
[test]
source = "corpus/test.source.txt"
refs = "corpus/test.refs.0.txt"
[decoder]
k = 50
[loop]
iterations = 1
"""


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
    parser.add_argument("model", nargs="?")
    parser.add_argument("lines", type=Path, nargs="?")
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--data", type=Path, help="the same option as all benchmarks; it does not matter here")
    options = parser.parse_args()
    if options.lines is not None:
        return ask(options.model, options.lines, options.clients, options.seconds or 60.0)
    with tempfile.TemporaryDirectory() as folder:
        return ask(*synthetic_model(Path(folder)), options.clients, options.seconds or 10.0)


def synthetic_model(folder):
    """Train a model on synthetic pairs; return its folder, and a file of lines to ask for."""
    (folder / "train.toml").write_text(SETTINGS)
    for words in ("synthetic pair corpus --train 2000 --tune 100 --test 100", "train train.toml -o model"):
        command = [sys.executable, "-m", "luthier.cli.start", *words.split(), "--quiet"]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder / "model", folder / "corpus" / "test.source.txt"


def ask(model, path, clients, seconds):
    """Serve a model to so many clients for so many seconds; print what they waited."""
    lines = path.read_text("utf-8").splitlines()
    translator = Translator(TranslationModel.open(model), threads=2)
    translator.ask(["."], Wanted()).result()
    service = Service(translator)
    thread = threading.Thread(target=service.run)
    thread.start()
    try:
        found = asyncio.run(crowd(service.port, lines, clients, seconds))
    finally:
        service.stop()
        thread.join()
    counts = {status: sum(s == status for s, _ in found) for status in sorted({s for s, _ in found})}
    waited = [took for status, took in found if status == 200]
    rate = len(waited) / seconds
    print(f"{clients} clients, {seconds:g} s: {counts}, {rate:.1f} lines/s")
    shares = ", ".join(f"{share} % within {np.percentile(waited, share):.2f} s" for share in (50, 95, 100))
    print(f"answered: {shares}; refused after {np.mean([took for s, took in found if s == 429] or [0]):.3f} s")
    return 0 if set(counts) <= {200, 429} else 1


if __name__ == "__main__":
    sys.exit(main())
