"""Ctrl-C at random moments of twenty commands, from the first line of ours on.

  python tests/cli/interrupting.py 200 --seed 1

A moment is well when the command ends with exit code 130 and one sentence, or was done before; when it says nothing of
Python's, leaves no process, and no file under its name that is not whole.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PYTHONS = ("Traceback", "Exception ignored", "KeyboardInterrupt", "Error:")
START = (  # as the command itself does
    "import sys\nfrom luthier.cli.start import command\nsys.stderr.write('begun\\n')\nsys.stderr.flush()\n"
    "sys.exit(command())"
)
PATIENCE = 600.0  # seconds until a command that does not end hangs, on a machine that does much else, too
TUNE = "tune pool.arrow --method mert --restarts 4"
LINES = (
    f"{TUNE} --cluster local:2 -o out/w.txt",
    f"{TUNE} -o out/w.txt",
    f"{TUNE} --trace out/t.jsonl --checkpoint out/kept --plot out/t.png -o out/w.txt",
    "compare --pool pool.arrow --weights w.txt --weights v.txt --cluster local:2",
    "line pool.arrow --axis lm --plot out/l.png -o out/l.tsv",
    "surface pool.arrow --axis lm --axis length --png out/s.png -o out/s.arrow",
    "geometry cones pool.arrow --axis lm --axis length --limit 200 --plot out/m.png -o out/m.arrow",
    "certify pool.arrow --axis lm --axis length --whole --checkpoint out/kept -w out/w.txt",
    "geometry fan --example table1 -o out/f.pdf",
    "geometry feasible pool.arrow --select first --plot out/f.png",
    "oracle pool.arrow --metric bleu,ter",
    "rerank pool.arrow --weights w.txt -o out/o.txt",
    "data convert pool.arrow out/l.jsonl.gz",
    "mbr pool.arrow --utility chrf -o out/u.arrow",
    "data shard pool.arrow --shards 3 --metric bleu -o out/parts",
    "data stats pool.arrow --metric chrf,ter -o out/p.arrow",
    "report pool.arrow --weights w.txt -o out/r.html",
    "synthetic lists out/g --sentences 20 --k 10",
    "synthetic pair out/p --train 50 --tune 5 --heldout 5 --test 5",
    "engine align pair/train.source.txt pair/train.refs.0.txt --train out/m -o out/l.gz",
)


def prepare(home: Path) -> None:
    """Write what the commands read."""
    from luthier.kbest.storage.pool_file import save_pool
    from luthier.synthetic.lists.noisy_channel import SyntheticLists
    from luthier.synthetic.pair.pair import PairGenerator

    save_pool(SyntheticLists(sentences=20, k=20, vocabulary=100).generate(1), home / "pool.arrow")
    PairGenerator().write(home / "pair", train=100, tune=0, heldout=0, test=0, seed=0)
    (home / "w.txt").write_text("lm 1\n")
    (home / "v.txt").write_text("lm 1\nlength 1\n")


def run(line: str, home: Path, after: float | None) -> tuple[int, str, float]:
    """Run a command, interrupted after so many seconds; return exit code, what it said, and how long it took."""
    shutil.rmtree(home / "out", ignore_errors=True)
    (home / "out").mkdir()
    child = subprocess.Popen(
        [sys.executable, "-c", START, *line.split()], cwd=home, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        start_new_session=True, text=True, env={**os.environ, "PYTHONFAULTHANDLER": "1"},
    )  # fmt: skip
    assert child.stderr is not None
    child.stderr.readline()
    began = time.monotonic()
    if after is not None:
        time.sleep(after)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGINT)  # as a terminal does: to all of them
    try:
        _, said = child.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        return -1, "it did not end", PATIENCE
    return child.returncode, said + _left(child.pid), time.monotonic() - began


def _left(group: int) -> str:
    """Return a complaint about processes that a command left behind, after a moment in which they may end."""
    for _ in range(600):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return ""
        time.sleep(0.1)
    os.killpg(group, signal.SIGKILL)
    return "Error: a process was left"


def fault(line: str, home: Path, after: float, whole: dict[str, bytes]) -> str:
    """Interrupt a command; return what is wrong with how it ended, "" if nothing is."""
    code, said, _ = run(line, home, after)
    where = f"{line} after {after:.3f} s: exit code {code}, said {said!r}"
    if code not in (0, 1, 130) or any(word in said for word in PYTHONS):
        return where
    if code == 130 and said.count("interrupted") > 1:
        return where
    found = contents(home)
    grow = ("t.jsonl", "kept", ".rows", ".state")
    torn = [name for name, data in found.items() if not name.endswith(grow) and not _is_whole(name, data, whole)]
    return f"{where}; torn or left: {torn}" if torn else ""


def _is_whole(name: str, data: bytes, whole: dict[str, bytes]) -> bool:
    """Return whether a file is as an undisturbed run writes it; weights and rows so far may be others."""
    if name.endswith(".tmp") or name not in whole:
        return False
    if name.endswith(".run.json"):  # it has the time, and the state in which the run ended
        return json.loads(data)["state"] in ("done", "interrupted")
    return data == whole[name] or name in ("w.txt", "t.png", "m.arrow", "m.png")


def contents(home: Path) -> dict[str, bytes]:
    """Return what is in the folder of results."""
    out = home / "out"
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


def main() -> int:
    """Interrupt at so many random moments; return 1 if one of them was not well."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("moments", type=int, nargs="?", default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance, faults = random.Random(options.seed), []
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        prepare(home)
        for number, line in enumerate(LINES):
            code, said, took = run(line, home, None)
            assert code in (0, 1), (line, said)
            whole = contents(home)
            for _ in range(number, options.moments, len(LINES)):
                faults.append(fault(line, home, chance.uniform(0.0, took), whole))
                print(faults[-1] or f"well: {line}", flush=True)  # noqa: T201
    bad = sum(map(bool, faults))
    print(f"{len(faults)} moments, {bad} of them not well")  # noqa: T201
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
