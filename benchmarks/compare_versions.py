"""Run every command with two versions and compare what they write, byte for byte, and the CPU time they take.

  python benchmarks/compare_versions.py 2a38ccd0 src

A version is a folder that holds the package, or a commit, which is checked out for the while. Both work on the
same synthetic lists. Times are left out of what is compared; all else must be the same: weights, tables, JSON, cell
counts, Arrow columns. A version may say more than the one before, which is shown: lines among those that were there,
keys beside those that were there. A command that a version lacks is left out for both.

CPU time is that of the whole process, the least of `--repeat` runs. Kernels are compiled first (`luthier warm`), unless
`--cold`. Not run: explore and serve (they never end), cluster, study, demo, and warm itself.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

TUNERS = (
    "mert", "mert-regularized", "simplex", "armijo", "random", "grid", "pro", "pro-all", "listwise", "adagrad", "mira",
    "mira-batch", "rampion", "svm", "expected", "plane", "lp-mert", "fan-regularized", "certified", "cma",
)  # fmt: skip
SHORT = {
    "random": "--rounds 3", "mira": "--epochs 2",
    "mira-batch": "--epochs 3", "lp-mert": "--climbs 2 --metric ter", "fan-regularized": "--climbs 2",
    "certified": "--limit 200", "cma": "--generations 10",
}  # fmt: skip
# times, and what says how long something took
TIMES = re.compile(
    rb'"(?:cpu_)?seconds": [0-9.e+-]+|"seconds": \[[^\]]*\]|(?:CPU s|seconds)[^\n]*|[0-9.]+ s\b'
    rb'|\b\d+\.\d\b(?= *[|\xe2]?\n)|"hash": "[0-9a-f]{32}"'
)
# what a command was called before commands had groups
OLD_NAMES = {
    "synthetic lists": "generate", "data convert": "convert", "data split": "split", "data weights": "weights",
    "geometry bounds": "geometry", "geometry feasible": "feasible", "geometry fan": "fan",
    "geometry cones": "minkowski", "list formats": "formats", "list metrics": "metrics",
}  # fmt: skip
SETTINGS = {
    "train.toml": """
[corpus]
source = "pair/train.source.txt"
target = "pair/train.refs.0.txt"
[tune]
source = "pair/tune.source.txt"
refs = ["pair/tune.refs.0.txt"]
[loop]
iterations = 2
[tuner]
method = "random"
rounds = 1
batch = 4
""",
    "loop.toml": """
[tune]
source = "pair/tune.source.txt"
refs = ["pair/tune.refs.0.txt"]
[decoder]
model = "model"
k = 20
[loop]
iterations = 2
""",
    "sweep.toml": """
tune = "a.arrow"
heldout = "b.arrow"
metric = "bleu"
[bins]
features = ["lm"]
bits = [1, 2]
scope = "global"
[tuner]
method = "mert"
""",
}

LISTS = "--weights lists/weights.txt"
COMMANDS = [
    "synthetic lists lists --sentences 40 --k 30",
    "synthetic lists small --sentences 8 --k 10",
    "synthetic outputs outputs.jsonl --inputs 20 --k 4",
    "synthetic pair pair --train 80 --tune 6 --heldout 4 --test 4",
    "pool lists/list.moses.gz --refs lists/refs.0.txt --source lists/source.txt -o pool.arrow",
    "pool small/list.moses.gz --refs small/refs.0.txt -o small.arrow",
    "pool outputs.jsonl -o outputs.arrow",
    "inspect pool.arrow",
    f"rerank pool.arrow {LISTS} -o out.txt",
    "data convert pool.arrow pool.jsonl",
    "data convert pool.arrow pool.moses.gz",
    "data convert pool.arrow pool.parquet",
    "data split pool.arrow --into a.arrow=0.7 --into b.arrow=0.3",
    "data stats pool.arrow --metric bleu,ter -o stats.arrow",
    "data shard pool.arrow --shards 3 --metric bleu -o shards",
    "data weights lists/weights.txt -o weights.json",
    "export pool.arrow --for comet -o comet",
    "score-with length pool.arrow --name words -o scored.arrow",
    f"pairs pool.arrow {LISTS} -o pairs.jsonl",
    "score out.txt --refs lists/refs.0.txt --metric bleu,ter,chrf,wer,cer,per,length",
    "oracle pool.arrow --metric bleu,ter",
    "compare --pool pool.arrow --weights lists/weights.txt --weights lists/weights.txt.copy --sentences 3",
    "mbr pool.arrow --utility chrf --utility bleu -o mbr.arrow",
    "mbr pool.arrow --select ter -o mbr.txt",
    f"line pool.arrow {LISTS} --axis lm -o line.tsv --json",
    f"line pool.arrow {LISTS} --axis lm --choose robust --resamples 50",
    f"surface pool.arrow {LISTS} --axis lm --axis length -o cells.tsv --json --check 200",
    f"surface pool.arrow {LISTS} --axis lm --axis length --stream --metric ter --check 200 --resamples 20",
    f"surface pool.arrow {LISTS} --axis lm --axis length --certify 50 --choose disc",
    f"tradeoff pool.arrow {LISTS} --axis lm --axis length --metric bleu,ter -o front.tsv --json",
    f"certify pool.arrow {LISTS} --axis lm --axis length --json",
    "geometry bounds small.arrow --sample 5 --against dims,sentences --timed-draws 0 --json",
    "geometry feasible small.arrow --select first --json",
    "geometry feasible small.arrow --select oracle",
    "geometry separable small.arrow --draws 5 --json",
    "geometry fan --example table1 -o fan1.png --json",
    "geometry fan pool.arrow --sentence 3 --axis lm --axis length --metric bleu -o fan2.png",
    "geometry cones small.arrow --weights small/weights.txt --axis lm --axis length --limit 200 -o cones.arrow --json",
    "ablate small.arrow --folds 2 --method mert --json",
    *(f"list {what}" for what in ("formats", "metrics", "scorers", "tuners")),
    "completion bash",
    *(
        f"tune a.arrow --method {name} --start lists/weights.txt --heldout b.arrow -o {name}.txt --trace {name}.jsonl "
        f"--json {SHORT.get(name, '')}"
        for name in TUNERS
    ),
    "tune a.arrow --method mert --restarts 3 --replicas 2 --average-replicas -o many.txt",
    "tune shards/manifest.json --method mert -o sharded.txt --verbose",
    "tune a.arrow --folds 3 --also ter --resamples 20 -o folds.txt --verbose",
    "tune a.arrow --method mert --checkpoint kept --restarts 2 -o kept.txt",
    "tune a.arrow --method mert --checkpoint kept --restarts 2 --resume -o kept.txt",
    "engine bins a.arrow --features lm --bits 2 --global -o bins.json",
    "engine induce a.arrow --bins bins.json -o binned.arrow",
    "engine sweep sweep.toml -o sweep",
    "engine align pair/train.source.txt pair/train.refs.0.txt -o links.txt",
    "engine lm pair/train.refs.0.txt --order 3 -o lm.arpa",
    "engine perplexity lm.arpa pair/tune.refs.0.txt",
    "engine extract --source pair/train.source.txt --target pair/train.refs.0.txt --links links.txt "
    "--for pair/tune.source.txt -o grammar.gz",
    "train train.toml -o model",
    "engine decode pair/tune.source.txt --model model -k 10 -o decoded.arrow --text decoded.txt",
    "engine evaluate model --source pair/test.source.txt --refs pair/test.refs.0.txt",
    "loop loop.toml -o loop",
    f"report pool.arrow {LISTS} -o report.html",
]  # fmt: skip


class Ran(NamedTuple):
    """What a command printed with how it ended, and the CPU seconds it took."""

    said: bytes
    seconds: float


def spelled(source: Path, command: str) -> str | None:
    """Return a command as a version spells it; None if it has none."""
    words = command.split()
    folder = source / "luthier" / "cli" / "commands"
    for place in ("/".join(words[:2]), words[0]):
        if (folder / f"{place.replace('-', '_')}.py").is_file():
            return command
    old = OLD_NAMES.get(" ".join(words[:2]))
    return " ".join([old, *words[2:]]) if old and (folder / f"{old}.py").is_file() else None


def run(source: Path, folder: Path, command: str) -> Ran:
    """Run a command in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(source), "NO_COLOR": "1", "COLUMNS": "200"}
    if "weights.txt.copy" in command:
        *kept, last = (folder / "lists" / "weights.txt").read_text().splitlines()
        (folder / "lists" / "weights.txt.copy").write_text("\n".join([*kept, f"{last.split()[0]} 0"]))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "luthier.cli.main", *command.split(), "--quiet"],
        cwd=folder, env=environment, capture_output=True, check=False,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = TIMES.sub(b"", done.stdout) + b"\nexit %d\n" % done.returncode + (done.stderr if done.returncode else b"")
    return Ran(said, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


@contextlib.contextmanager
def checked_out(version: str, home: Path) -> Iterator[Path]:
    """Give the folder that holds the package: the one that is named, or that of a commit."""
    if Path(version, "luthier").is_dir():
        yield Path(version).resolve()
        return
    folder = home / f"source-{version}"
    subprocess.run(["git", "worktree", "add", "--detach", "--quiet", str(folder), version], check=True)
    try:
        yield folder / "src"
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", str(folder)], check=True)


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
        if path.is_file() and path.suffix not in (".png", ".state", ".luthier"):
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


def compare_commands(sources: list[Path], folders: list[Path], repeat: int) -> tuple[int, list[float]]:
    """Run every command with both versions; return how many differ, and the CPU seconds of each version."""
    different, total = 0, [0.0, 0.0]
    for command in COMMANDS:
        spellings = [spelled(source, command) for source in sources]
        if None in spellings:
            print("absent ", command, flush=True)
            continue
        rans: list[list[Ran]] = [[], []]
        for time in range(repeat):
            for i, folder in enumerate(folders):
                with tempfile.TemporaryDirectory() as apart:  # all but the last run work on a copy
                    copied = shutil.copytree(folder, Path(apart, folder.name)) if time < repeat - 1 else folder
                    rans[i].append(run(sources[i], copied, spellings[i] or ""))
        (before, after), seconds = (ran[-1].said for ran in rans), [min(r.seconds for r in ran) for ran in rans]
        total = [a + b for a, b in zip(total, seconds, strict=True)]
        added = [] if before == after else more_of(before, after)
        different += added is None
        verdict = "same   " if before == after else "DIFFERS" if added is None else "more   "
        if b"\nexit 0\n" not in before + after:  # nothing was compared
            verdict, different = "FAILS  ", different + (added is not None)
        print(f"{verdict} {seconds[0]:6.2f} {seconds[1]:6.2f} {seconds[1] / seconds[0]:5.2f}  {command}", flush=True)
        for line in sorted({line.strip() for line in added or ()}):
            print("    +", line, flush=True)
        for text in (before, after) if added is None else ():
            print("   ", text[-400:].decode(errors="replace").replace("\n", "\n    "), flush=True)
    return different, total


def compare_files(folders: list[Path]) -> tuple[int, int]:
    """Return how many files there are, and how many differ."""
    before, after = (files_of(folder) for folder in folders)
    different = 0
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            both = name in before and name in after
            if name not in before:
                print("new    ", name)
                continue
            added = more_of(*(TIMES.sub(b"", (folder / name).read_bytes()) for folder in folders)) if both else None
            different += added is None
            print("DIFFERS" if added is None else "more   ", name, *sorted({line.strip() for line in added or ()}))
    return len(before), different


def main() -> int:
    """Compare; the exit code is the number of differences, at most 99."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", help="a folder with the package, or a commit")
    parser.add_argument("after", help="the same")
    parser.add_argument("--keep", type=Path, help="a folder for all that is written")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each command, of which the fastest counts")
    parser.add_argument("--cold", action="store_true", help="do not compile kernels before")
    options = parser.parse_args()
    home = options.keep or Path(tempfile.mkdtemp())
    folders = [home / "before", home / "after"]
    for folder in folders:
        folder.mkdir(parents=True)
        for name, text in SETTINGS.items():
            (folder / name).write_text(text)
    with checked_out(options.before, home) as before, checked_out(options.after, home) as after:
        for source, folder in () if options.cold else zip((before, after), folders, strict=True):
            run(source, folder, "warm")
        different, seconds = compare_commands([before, after], folders, options.repeat)
    n_files, of_files = compare_files(folders)
    print(f"{len(COMMANDS)} commands and {n_files} files, {different + of_files} differ")
    print(f"CPU seconds {seconds[0]:.1f} and {seconds[1]:.1f}, ratio {seconds[1] / seconds[0]:.3f}")
    if options.keep is None:
        shutil.rmtree(home)
    return min(99, different + of_files)


if __name__ == "__main__":
    sys.exit(main())
