"""Runs that are found in folders: their records, and the loops, traces, weights, pools and studies that have none.

Only what is below the folders that were named is read, and no link is followed. A file is read again only where its
size or time has changed; what a stranger wrote into a record is checked value by value, and is "unknown" where wrong.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import os
import socket
import stat
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.errors import LuthierError
from luthier.core.files.journal import unseal
from luthier.core.settings import parse_json
from luthier.explorer.sessions.responses import shown, signed
from luthier.jobs.run_file import RUNNING, SUFFIX, run_path
from luthier.kbest.storage.pool_file import is_pool, stored_digest
from luthier.kbest.weights import SPARSE_SECTION, Weights, read_weights
from luthier.metrics.base import VERSION_MARK
from luthier.tuning.loops.folder import ANSWER, HELDOUT, LISTS, TURNS

LARGEST = 1e300
MOST_FILES, MOST_RUNS, DEEPEST = 200_000, 5_000, 12
LARGEST_RECORD, LARGEST_WEIGHTS, LARGEST_TABLES, HEAD = 1 << 20, 4 << 20, 1 << 20, 1 << 16
STUDY, STUDY_TABLES, STOPPED = "units.jsonl", "tables.md", "stopped"
WEIGHT_FILES = (".txt", ".json", ".ini")
PACKED_HEADS = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")


@dataclasses.dataclass(frozen=True, eq=False)
class Run:
    """One row of the table.

    Attributes
    ----------
    path : of the record, or of the file or folder itself where there is none
    kind : tune, loop, train, or of what has no record: loop, weights, trace, lists, study
    about : what the record says, as far as it is right
    """

    path: str
    kind: str
    time: float
    about: Mapping[str, Any]

    @property
    def home(self) -> Path:
        """The folder it is in."""
        return Path(self.path) if self.kind == "loop" and not self.path.endswith(SUFFIX) else Path(self.path).parent

    @property
    def answers(self) -> list[str]:
        """The files of its weights: beside it, whatever the record says."""
        names = self.about.get("answers")
        found = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
        return [str(self.home / name) for name in found if name == Path(name).name and name not in ("", ".", "..")]

    @property
    def trace(self) -> str:
        """Its states: the file of a trace, or the folder of a loop; '' where there are none."""
        if self.kind in ("loop", "train"):
            return str(self.home)
        name = self.path if self.kind == "trace" else self.about.get("trace")
        return str(self.home / Path(name).name) if isinstance(name, str) and name else ""

    def text(self, *keys: str) -> str:
        """Return a text of the record, '' where there is none."""
        value = value_at(self.about, *keys)
        return value[:2000] if isinstance(value, str) else ""

    def number(self, *keys: str) -> float | None:
        """Return a finite number of the record."""
        return number_at(self.about, *keys)

    @property
    def state(self) -> str:
        """How far it is: running, done, interrupted, failed; stopped where it says it runs and its process is gone."""
        said = self.text("state")
        return STOPPED if said == RUNNING and not _alive(self.text("machine"), self.about.get("process")) else said

    @property
    def metric(self) -> str:
        """The metric, as it can be loaded."""
        return self.text("signature").partition(VERSION_MARK)[0]


def value_at(record: Any, *keys: str) -> Any:
    """Return what a record has below some keys; None where it has nothing."""
    for key in keys:
        record = record.get(key) if isinstance(record, Mapping) else None
    return record


def number_at(record: Any, *keys: str) -> float | None:
    """Return a finite number of a record."""
    value = value_at(record, *keys)
    return float(value) if type(value) in (int, float) and abs(value) < LARGEST else None


def _alive(machine: str, process: Any) -> bool:
    """Return whether a process may be there: of other machines nobody knows."""
    if machine != socket.gethostname() or os.name != "posix":
        return True
    if type(process) is not int or not 0 < process < 1 << 31:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


class Folders:
    """What is found below some folders."""

    def __init__(self, roots: Sequence[str]) -> None:
        self.roots = [Path(os.path.realpath(root)) for root in roots]
        self._known: dict[tuple[str, str], tuple[tuple[int, ...], Any]] = {}
        self._numbers: dict[str, int] = {}
        self._paths: list[str] = []
        self._lock = threading.Lock()
        self.runs: dict[int, Run] = {}
        self.pools: dict[str, str] = {}  # digest → path
        self.n_left_out = 0

    def look(self) -> dict[int, Run]:
        """Return all runs by their numbers, which stay; what has not changed is not read again."""
        with self._lock:
            found: dict[str, Run] = {}
            self.pools, self.n_left_out, files = {}, 0, 0
            for root in self.roots:
                for folder, names in _walk(root):
                    files += len(names)
                    if files > MOST_FILES or len(found) > MOST_RUNS:
                        self.n_left_out += 1
                        break
                    for run in self._in_folder(folder, names):
                        found.setdefault(run.path, run)
            for path in found:
                if path not in self._numbers:
                    self._numbers[path] = len(self._paths)
                    self._paths.append(path)
            self.runs = {self._numbers[path]: run for path, run in found.items()}
            return self.runs

    def _in_folder(self, folder: Path, names: Mapping[str, os.stat_result]) -> Iterator[Run]:
        """Yield the runs of one folder; files that a record names are no runs of their own."""
        taken: set[str] = set()
        for name in [name for name in names if name.endswith(SUFFIX)]:
            record = self._once("record", folder / name, names[name], _read_record)
            if record is None:
                continue
            run = Run(str(folder / name), str(record.get("kind", "tune"))[:20], names[name].st_mtime, record)
            taken.update(Path(path).name for path in run.answers)
            taken.add(Path(run.trace).name)
            if TURNS in names:
                told = self._once("loop", folder / TURNS, names[TURNS], _read_turns) or {}
                run = dataclasses.replace(run, about={**told, **record})
                taken.add(TURNS)
            yield run
        if TURNS in names and TURNS not in taken:
            told = self._once("loop", folder / TURNS, names[TURNS], _read_turns)
            if told is not None:
                yield Run(str(folder), "loop", names[TURNS].st_mtime, {**told, "answers": [ANSWER]})
        inside = folder.name in (LISTS, HELDOUT, "weights") and (folder.parent / TURNS).exists()
        for name, told in names.items():
            yield from self._alone(folder / name, told, listed=not inside and TURNS not in names, taken=taken)

    def _alone(self, path: Path, told: os.stat_result, *, listed: bool, taken: set[str]) -> Iterator[Run]:
        """Yield a file that no record names: a pool, a trace, a study, weights."""
        if path.suffix == ".arrow":
            digest = self._once("pool", path, told, _read_digest)
            if digest:
                self.pools.setdefault(digest, str(path))
                if listed:
                    yield Run(str(path), "lists", told.st_mtime, {"lists": {"name": path.name, "digest": digest}})
        elif not listed or path.name in taken or path.name.endswith(SUFFIX):
            return
        elif path.name == STUDY:
            yield Run(str(path), "study", told.st_mtime, {})
        elif path.suffix == ".jsonl":
            if self._once("trace", path, told, _is_trace):
                yield Run(str(path), "trace", told.st_mtime, {})
        elif path.suffix in WEIGHT_FILES and self._once("weights", path, told, _is_weights):
            yield Run(str(path), "weights", told.st_mtime, {"answers": [path.name]})

    def _once(self, kind: str, path: Path, told: os.stat_result, read: Callable[[Path], Any]) -> Any:
        """Return what a file says, read again only where it has changed; None where it cannot be read."""
        key, mark = (kind, str(path)), (told.st_ino, told.st_size, told.st_mtime_ns)
        if key not in self._known or self._known[key][0] != mark:
            try:
                found = read(path)
            except (OSError, ValueError, LuthierError):
                found = None
            self._known[key] = mark, found
        return self._known[key][1]

    def name_of(self, run: Run) -> str:
        """Return what the table calls a run: its path from the folder that was named, without the ending."""
        path = Path(run.path)
        if run.path.endswith(SUFFIX):
            path = path.parent if run.kind in ("loop", "train") else path.with_name(path.name.removesuffix(SUFFIX))
        for root in self.roots:
            if path.is_relative_to(root):
                inside = path.relative_to(root)
                own = str(inside) if inside.parts else root.name
                return own if len(self.roots) == 1 else str(Path(root.name) / inside)
        return path.name

    def weights_of(self, run: Run) -> dict[str, Weights]:
        """Return the weights of a run's answers by their names; those that cannot be read are left out."""
        found = {}
        for path in run.answers:
            try:
                told = os.lstat(path)
            except OSError:
                continue
            weights = self._once("answer", Path(path), told, _read_weights)
            if weights is not None:
                several = len(run.answers) > 1
                found[f"{self.name_of(run)} · {Path(path).name}" if several else self.name_of(run)] = weights
        return found

    def tables_of(self, run: Run) -> str:
        """Return the tables of a study, in Markdown."""
        if run.kind != "study":
            raise LuthierError(f"{self.name_of(run)} is no study")
        try:
            raw = _head(run.home / STUDY_TABLES, LARGEST_TABLES + 1)
        except (OSError, ValueError):
            raise LuthierError("this study has no tables yet. hint: 'luthier study' writes them when it ends") from None
        if len(raw) > LARGEST_TABLES:
            raise LuthierError(f"{STUDY_TABLES}: expected at most {LARGEST_TABLES:,} bytes")
        return raw.decode("utf-8", "replace")

    def shown(self, number: int, run: Run) -> dict[str, Any]:
        """Return a row as the page shows it; texts are empty where nothing is known."""
        tuned, unseen = run.number("scores", "tuned"), run.number("unseen", "score")
        alone, higher = run.number("unseen", "alone", "score"), run.about.get("higher_is_better") is not False
        worse = alone is not None and unseen is not None and (unseen < alone if higher else unseen > alone)
        sentences = run.number("lists", "sentences")
        states = run.number("so_far", "states")
        return {
            "run": number,
            "name": self.name_of(run),
            "kind": run.kind,
            "state": run.state,
            "when": run.text("ended") or run.text("began") or _time(run.time),
            "tuner": run.text("tuner").partition("(")[0],
            "tuner_full": run.text("tuner"),
            "metric": run.text("metric") or run.metric.partition("(")[0],
            "signature": run.text("signature"),
            "tuned": tuned,
            "tuned_shown": "" if tuned is None else shown(tuned),
            "gain_shown": _gain(tuned, run.number("scores", "before")),
            "unseen": unseen,
            "unseen_shown": "" if unseen is None else shown(unseen),
            "unseen_gain_shown": _gain(unseen, run.number("unseen", "before")),
            "unseen_by": run.text("unseen", "by"),
            "warning": f"{run.text('unseen', 'alone', 'name')} has {shown(alone)} there" if worse and alone is not None
            else "",
            "sentences": None if sentences is None else int(sentences),
            "seed": None if run.number("seed") is None else int(run.number("seed") or 0),
            "lists": run.text("lists", "name"),
            "digest": run.text("lists", "digest"),
            "opens": run.kind == "lists" or run.text("lists", "digest") in self.pools,
            "weights": len(run.answers),
            "so_far": "" if run.state != RUNNING else _so_far(run, states),
        }  # fmt: skip


def _so_far(run: Run, states: float | None) -> str:
    turns = run.number("turns")
    if turns is not None:
        return f"{int(turns)} turns"
    gain = run.number("so_far", "gain")
    return "" if states is None or gain is None else f"{int(states):,} states, {shown(abs(gain))}"


def _gain(after: float | None, before: float | None) -> str:
    return "" if after is None or before is None else signed(after - before, like=after)


def _time(seconds: float) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat(timespec="seconds")


def _walk(root: Path) -> Iterator[tuple[Path, dict[str, os.stat_result]]]:
    """Yield each folder below one, itself first, with its regular files; links and hidden folders are skipped."""
    waiting = [(root, 0)]
    while waiting:
        folder, depth = waiting.pop()
        names: dict[str, os.stat_result] = {}
        try:
            with os.scandir(folder) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name):
                    if entry.is_dir(follow_symlinks=False):
                        if depth < DEEPEST and not entry.name.startswith("."):
                            waiting.append((folder / entry.name, depth + 1))
                    elif entry.is_file(follow_symlinks=False) and _utf8(entry.name):
                        names[entry.name] = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        yield folder, names


def _utf8(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _head(path: Path, most: int) -> bytes:
    """Return the first bytes of a regular file that is no link."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("no regular file")
        return file.read(most)


def _read_record(path: Path) -> dict[str, Any] | None:
    raw = _head(path, LARGEST_RECORD + 1)
    if len(raw) > LARGEST_RECORD:
        return None
    found = parse_json(raw)
    return found if isinstance(found, dict) else None


def record_of(answer: str) -> dict[str, Any]:
    """Return what stands beside a file of weights about its run; nothing where that is about another file."""
    try:
        found = _read_record(Path(run_path(answer))) if run_path(answer) else None
    except (OSError, ValueError):
        return {}
    names = {} if found is None else found.get("answers")
    return found if found is not None and isinstance(names, list) and Path(answer).name in names else {}


def _read_turns(path: Path) -> dict[str, Any] | None:
    """Return what the lines of a loop's folder say: its tuner and metric, and what the last turn came to."""
    lines = _head(path, LARGEST_WEIGHTS).splitlines()
    records = [unseal(line) for line in lines[:2]]
    identity = records[0].get("identity") if records else None
    if not isinstance(identity, dict):
        return None
    about: dict[str, Any] = {"turns": len(lines[2:]), "tuner": identity.get("tuner"), "seed": identity.get("seed")}
    about |= {"signature": identity.get("metric"), "began": _time(path.stat().st_mtime)}
    if len(lines) > 2:
        first, last = unseal(lines[2]), unseal(lines[-1])
        about["scores"] = {"before": first.get("decoded"), "tuned": last.get("after")}
        about["unseen"] = {"by": "held-out", "score": last.get("heldout"), "before": records[1].get("heldout")}
        place = f"{LISTS}/{int(last.get('number', 1)) - 1:03d}.arrow"
        about["lists"] = {"name": place, "digest": last.get("lists"), "hypotheses": last.get("hypotheses")}
    return about


def _read_digest(path: Path) -> str:
    return stored_digest(path) if is_pool(str(path)) else ""


def _is_trace(path: Path) -> bool:
    first = _head(path, HEAD).partition(b"\n")[0]
    return b'"gain"' in first and b'"weights"' in first


def _is_weights(path: Path) -> bool:
    return _read_weights(path) is not None


def _read_weights(path: Path) -> Weights | None:
    """Return weights that stand in one plain file: none that are packed, or that name another file."""
    raw = _head(path, LARGEST_WEIGHTS + 1)
    if len(raw) > LARGEST_WEIGHTS or raw.startswith(PACKED_HEADS) or SPARSE_SECTION.encode() in raw:
        return None
    if not np.isfinite(list((found := read_weights(path)).values())).all():
        return None
    return found
