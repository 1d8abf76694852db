"""Run every command with two versions of the source and compare what they write, byte for byte.

  git worktree add ../before v0.1.0
  python benchmarks/compare_versions.py ../before/src src

Both versions work on the same generated lists. Times are left out of what is compared; all else must be the same:
weights, tables, JSON, cell counts, Arrow columns. A version may say more than the one before, which is shown: lines
among those that were there, keys beside those that were there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TUNERS = (
    "mert", "mert-regularized", "simplex", "armijo", "random", "grid", "pro", "pro-all", "listwise", "adagrad", "mira",
    "mira-batch", "rampion", "svm", "expected", "plane", "lp-mert", "fan-regularized",
)  # fmt: skip
SHORT = {
    "armijo": "--iterations 20", "simplex": "--iterations 30", "random": "--rounds 3", "mira": "--epochs 2",
    "mira-batch": "--epochs 3", "lp-mert": "--climbs 2 --metric ter", "fan-regularized": "--climbs 2",
}  # fmt: skip
# times, and what says how long something took
TIMES = re.compile(
    rb'"(?:cpu_)?seconds": [0-9.e+-]+|"seconds": \[[^\]]*\]|(?:CPU s|seconds)[^\n]*|[0-9.]+ s\b'
    rb"|\b\d+\.\d\b(?= *[|\xe2]?\n)"
)

COMMANDS = [
    "generate lists --sentences 40 --k 30",
    "generate small --sentences 8 --k 10",
    "pool lists/list.moses.gz --refs lists/refs.0.txt --source lists/source.txt -o pool.arrow",
    "pool small/list.moses.gz --refs small/refs.0.txt -o small.arrow",
    "inspect pool.arrow",
    "rerank pool.arrow --weights lists/weights.txt -o out.txt",
    "convert pool.arrow pool.jsonl",
    "convert pool.arrow pool.moses.gz",
    "convert pool.arrow pool.parquet",
    "split pool.arrow --into a.arrow=0.7 --into b.arrow=0.3",
    "score out.txt --refs lists/refs.0.txt --metric bleu,ter,chrf,wer,cer,per,length",
    "oracle pool.arrow --metric bleu,ter",
    "compare --pool pool.arrow --weights lists/weights.txt --weights lists/weights.txt.copy --sentences 3",
    "line pool.arrow --weights lists/weights.txt --axis lm -o line.tsv --json",
    "surface pool.arrow --weights lists/weights.txt --axis lm --axis length -o cells.tsv --json --check 200",
    "surface pool.arrow --weights lists/weights.txt --axis lm --axis length --stream --metric ter --check 200",
    "geometry small.arrow --sample 5 --against dims,sentences --timed-draws 0 --json",
    "feasible small.arrow --select first --json",
    "feasible small.arrow --select oracle",
    "fan --example table1 -o fan1.png --json",
    "fan pool.arrow --sentence 3 --axis lm --axis length --metric bleu -o fan2.png",
    "minkowski small.arrow --weights small/weights.txt --axis lm --axis length --limit 200 -o cones.arrow --json",
    "weights lists/weights.txt -o weights.json",
    "formats",
    "metrics",
    *(
        f"tune a.arrow --method {name} --start lists/weights.txt --heldout b.arrow -o {name}.txt --trace {name}.jsonl "
        f"--json {SHORT.get(name, '')}"
        for name in TUNERS
    ),
    "tune a.arrow --method mert --restarts 3 --replicas 2 --average-replicas -o many.txt",
]


def run(source: Path, folder: Path, command: str) -> bytes:
    """Run a command in a folder; return what it printed, and how it ended."""
    environment = {**os.environ, "PYTHONPATH": str(source), "NO_COLOR": "1", "COLUMNS": "200"}
    if "weights.txt.copy" in command:
        *kept, last = (folder / "lists" / "weights.txt").read_text().splitlines()
        (folder / "lists" / "weights.txt.copy").write_text("\n".join([*kept, f"{last.split()[0]} 0"]))
    done = subprocess.run(
        [sys.executable, "-m", "luthier.cli.main", *command.split(), "--quiet"],
        cwd=folder, env=environment, capture_output=True, check=False,
    )  # fmt: skip
    return TIMES.sub(b"", done.stdout) + b"\nexit %d\n" % done.returncode + (done.stderr if done.returncode else b"")


def more_of(before: bytes, after: bytes) -> list[str] | None:
    """Return what `after` says beyond `before`, of which nothing may be missing; None if something is."""
    try:
        keys = more_keys(*(json.loads(text.rsplit(b"\nexit 0", 1)[0]) for text in (before, after)))
        return None if keys is None else [f"key {key}" for key in keys]
    except ValueError:  # no JSON
        old, new = (text.decode(errors="replace").splitlines() for text in (before, after))
    lines, added = iter(new), list[str]()
    for line in old:
        for other in lines:
            if other == line:
                break
            added.append(other)
        else:
            return None
    return [*added, *lines]


def more_keys(old: object, new: object) -> list[str] | None:
    """Return the keys that a JSON value has beyond those of an older one; None if anything else differs."""
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() <= new.keys():
        below = [more_keys(old[key], new[key]) for key in old]
        return None if None in below else [*(new.keys() - old.keys()), *(k for keys in below for k in keys or ())]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        below = [more_keys(a, b) for a, b in zip(old, new, strict=True)]
        return None if None in below else [key for keys in below for key in keys or ()]
    return [] if old == new else None


def files_of(folder: Path) -> dict[str, bytes]:
    """Return a hash of every file below a folder, without times and without what names its maker."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix not in (".png", ".state"):
            content = columns_of(path) if path.suffix in (".arrow", ".parquet") else TIMES.sub(b"", path.read_bytes())
            found[str(path.relative_to(folder))] = hashlib.sha256(content).digest()
    return found


def columns_of(path: Path) -> bytes:
    """Return names and values of a file's columns; what it says of its makers (version, command) is left out."""
    import pyarrow as pa
    import pyarrow.parquet

    with pa.OSFile(str(path)) as file:
        try:
            table = pa.parquet.read_table(file) if path.suffix == ".parquet" else pa.ipc.open_file(file).read_all()
        except pa.ArrowInvalid:
            table = pa.ipc.open_stream(pa.OSFile(str(path))).read_all()
    return repr(table.to_pydict()).encode()


def main() -> int:
    """Compare; the exit code is the number of differences, at most 99."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--keep", type=Path, help="a folder for all that is written")
    options = parser.parse_args()
    home = options.keep or Path(tempfile.mkdtemp())
    folders = [home / "before", home / "after"]
    for folder in folders:
        folder.mkdir(parents=True)
    different = 0
    for command in COMMANDS:
        sources = (options.before.resolve(), options.after.resolve())
        before, after = (run(source, folder, command) for source, folder in zip(sources, folders, strict=True))
        added = [] if before == after else more_of(before, after)
        different += added is None
        print("same   " if before == after else "DIFFERS" if added is None else "more   ", command, flush=True)
        for line in sorted({line.strip() for line in added or ()}):
            print("    +", line, flush=True)
        for text in (before, after) if added is None else ():
            print("   ", text[-400:].decode(errors="replace").replace("\n", "\n    "), flush=True)
    before, after = (files_of(folder) for folder in folders)
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            both = name in before and name in after
            added = more_of(*(TIMES.sub(b"", (folder / name).read_bytes()) for folder in folders)) if both else None
            different += added is None
            print("DIFFERS" if added is None else "more   ", name, *sorted({line.strip() for line in added or ()}))
    print(f"{len(COMMANDS)} commands and {len(before)} files, {different} differ")
    if options.keep is None:
        shutil.rmtree(home)
    return min(99, different)


if __name__ == "__main__":
    sys.exit(main())
