"""One scorer more: ``luthier.score_with(scorer, pool, name="kiwi", output="pool2.arrow")``."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core import plugins
from luthier.core.arrays import Float64
from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import check_apart, check_writable, display_name
from luthier.core.files.journal import JournalWriter, read_journal
from luthier.core.html import Shown
from luthier.core.params import checked, path_of
from luthier.core.progress import notice, progress
from luthier.core.segments import segment_of_rows
from luthier.jobs.opening import AnyPath, AnyPool, pool_at
from luthier.jobs.scoring_program import CountError, Program
from luthier.kbest.pool import Pool
from luthier.kbest.storage.pool_file import save_pool
from luthier.kbest.storage.writer import ids_as_they_came
from luthier.scorers._scorer import PACKAGE, Item, Scorer

KEPT = ".scores"  # beside the output: answers, so that a run that was ended goes on
KEEP_SECONDS, KEEP_ANSWERS = 1.0, 1000


@dataclasses.dataclass(frozen=True)
class ScoringReport(Shown):
    """What was scored: hypotheses in all, those answered now, those kept from before, and what the numbers are like."""

    scorer: str
    name: str
    role: str
    output: str
    cache: str
    hypotheses: int
    scored: int
    kept: int
    low: float | None
    mean: float | None
    high: float | None
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return dataclasses.asdict(self)


@checked
def score_with(
    scorer: str | Scorer,
    pool: AnyPool,
    *,
    name: str,
    output: AnyPath,
    option: Mapping[str, Any] | None = None,
    references: bool = False,
    scorer_version: str = "",
    batch: int = 64,
    cache: AnyPath | None = None,
) -> ScoringReport:
    """Score every hypothesis of a pool, and write the pool with the numbers as one feature more.

    Answers are kept in a file as they come, by a digest of the scorer, its version and what it was given: nothing is
    scored twice, and a run that was ended goes on where it stood.

    Parameters
    ----------
    scorer
        A command, which gets lines of JSON (``id, src, hyp``) and prints a number a line; or the name of a scorer that
        runs in this process (``ngram``, ``length`` …) with its `option`; or such a scorer. The option of a command is
        ``seconds``: how long it may be silent before it is ended, an hour unless given.
    pool, name, output
        Lists, what the numbers are called, and the pool that is written.
    references
        Give the scorer the references too (``ref``). What it says is then a column to tune for, and no feature.
    scorer_version
        Part of the digest: another version scores anew.
    batch
        Hypotheses that a scorer in this process is given at once.
    cache
        File of answers; default: beside the output.
    """
    path, lists = path_of(output, "a pool"), pool_at(pool)
    place = path_of(cache, "a file of answers") if cache is not None else f"{path}{KEPT}"
    opened = scorer_of(scorer, option or {})
    _check(lists, name, references=references, batch=batch)
    check_writable(path)
    check_writable(place)
    check_apart(path, *([pool] if isinstance(pool, str | os.PathLike) else []), place)
    begin, items = time.monotonic(), _items(lists, references=references)
    digest = f"{opened.identity()} {scorer_version}"
    values, scored, kept = _all_scores(opened, items, digest, place, batch)
    made = lists.with_columns({name: values}) if references else lists.with_features({name: values})
    save_pool(made.noting("score", name=name, scorer=_said(opened), version=scorer_version), path)
    n = len(values)
    low, mean, high = (float(f(values)) if n else None for f in (np.min, np.mean, np.max))
    role = "column" if references else "feature"
    seconds = time.monotonic() - begin
    files = display_name(path), display_name(place)
    return ScoringReport(_said(opened), name, role, *files, n, scored, kept, low, mean, high, seconds)


def scorer_of(scorer: str | Scorer, option: Mapping[str, Any]) -> Scorer | Program:
    """Return a scorer of this process, by its name and options, or the program that a command is."""
    if not isinstance(scorer, str):
        if option or not isinstance(scorer, Scorer):
            raise LuthierError(f"expected a command, or a scorer's name and options, found {scorer!r}")
        return scorer
    if not plugins.is_known(PACKAGE, scorer):
        if set(option) - {"seconds"}:
            raise LuthierError(
                f"{scorer!r} is a command, whose only option is seconds: how long it may be silent. "
                f"hint: scorers with other options are {', '.join(plugins.available(PACKAGE))}"
            )
        return Program(scorer, **option)
    method = plugins.load(PACKAGE, scorer)
    known = [field.name for field in dataclasses.fields(method)]
    unknown = [name for name in option if name not in known]
    if unknown:
        raise LuthierError(f"the scorer {scorer} has no option {unknown[0]!r}. it has: {', '.join(known)}")
    made: Scorer = method(**option)
    return made


def _said(scorer: Scorer | Program) -> str:
    if isinstance(scorer, Program):
        return scorer.command
    return f"{type(scorer).__module__.rpartition('.')[2]}{repr(scorer)[len(type(scorer).__name__) :]}"


def _check(pool: Pool, name: str, *, references: bool, batch: int) -> None:
    if not isinstance(name, str) or not name or any(sign.isspace() for sign in name) or "=" in name:
        raise LuthierError(f"expected a `name` without white space and '=' for the scores, found {name!r}")
    if name in (*pool.features.names, *pool.columns):
        raise LuthierError(f"the lists have {name!r} already. hint: give the scores another `name`")
    if references and pool.references is None:
        raise LuthierError("expected lists with references, found none. hint: give `refs`, or leave `references` out")
    if isinstance(batch, bool) or not isinstance(batch, int) or batch < 1:
        raise LuthierError(f"expected a `batch` of at least 1, found {batch!r}")


def _items(pool: Pool, *, references: bool) -> list[Item]:
    """Return what a scorer is given of each hypothesis, (M,)."""
    ids, sources = ids_as_they_came(pool), pool.sources
    src = [""] * pool.n_sentences if sources is None else list(sources)
    refs: list[tuple[str, ...] | None] = [None] * pool.n_sentences
    if references and pool.references is not None:
        refs = [tuple(pool.references.of(i)) for i in range(pool.n_sentences)]
    sentences = segment_of_rows(pool.offsets).tolist()
    return [Item(ids[i], src[i], text, refs[i]) for i, text in zip(sentences, pool.texts, strict=True)]


def _all_scores(
    scorer: Scorer | Program, items: Sequence[Item], identity: str, place: str, batch: int
) -> tuple[Float64, int, int]:
    """Return the score of each item, (M,), how many were scored now, and how many before.

    Answers are kept at `place` as they come; what stands twice is scored once.
    """
    keys = [hashlib.blake2b(f"{identity}\n{item.line()}".encode(), digest_size=16).hexdigest() for item in items]
    known, length = _read_kept(place)
    missing = list(dict.fromkeys(key for key in keys if key not in known))
    kept_before = sum(key in known for key in keys)
    first = dict(zip(reversed(keys), reversed(items), strict=True))
    if missing:
        with JournalWriter(place, length) as journal, progress("scoring", len(missing)) as advance:
            kept = _Keeping(journal, missing)
            try:
                for number in _answers(scorer, [first[key] for key in missing], batch):
                    kept.add(number)
                    advance(1)
            except CountError:
                kept.forget()
                raise
            except KeyboardInterrupt:
                notice(
                    f"{kept.n} of {len(missing)} are scored and kept in {place}; the same command goes on from there"
                )
                raise
            finally:
                kept.write()
        known.update(kept.found)
    return np.array([known[key] for key in keys], dtype=np.float64), len(missing), kept_before


class _Keeping:
    """Answers that go to a journal in groups, about one a second."""

    def __init__(self, journal: JournalWriter, keys: Sequence[str]) -> None:
        self._journal, self._keys, self.n = journal, keys, 0
        self.found: dict[str, float] = {}
        self._waiting: list[dict[str, Any]] = []
        self._last, self._length = time.monotonic(), journal.length

    def add(self, number: float) -> None:
        key = self._keys[self.n]
        self.n += 1
        self.found[key] = number
        self._waiting.append({"key": key, "score": number})
        if len(self._waiting) >= KEEP_ANSWERS or time.monotonic() - self._last > KEEP_SECONDS:
            self.write()

    def forget(self) -> None:
        """Take all answers back: they may belong to other hypotheses."""
        self._waiting = []
        self._journal.cut(self._length)

    def write(self) -> None:
        waiting, self._waiting, self._last = self._waiting, [], time.monotonic()
        if waiting:
            self._journal.append(*waiting)


def _read_kept(place: str) -> tuple[dict[str, float], int]:
    """Return the answers in a file, if there is one, and how many of its bytes they take."""
    if not Path(place).exists():
        return {}, 0
    records, length = read_journal(place, "an answer of a scorer")
    found: dict[str, float] = {}
    for number, record in enumerate(records, start=1):
        score = record.get("score")
        if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
            raise InputError(expected="an answer of a scorer", found=repr(record), path=place, line=number)
        found[str(record.get("key"))] = float(score)
    return found, length


def _answers(scorer: Scorer | Program, items: Sequence[Item], batch: int) -> Iterator[float]:
    if isinstance(scorer, Program):
        yield from scorer.answers(items)
        return
    for start in range(0, len(items), batch):
        some = items[start : start + batch]
        try:
            found = list(scorer.score(some))
        except LuthierError:
            raise
        except Exception as error:  # whatever somebody's scorer raises is one sentence
            raise LuthierError(
                f"{_said(scorer)} failed at sentence {some[0].id!r} or after it: {type(error).__name__}: {error}"
            ) from error
        if len(found) != len(some):
            where = f"after sentence {some[min(len(found), len(some)) - 1].id!r}"
            raise LuthierError(f"{_said(scorer)}: expected {len(some)} numbers, found {len(found)}, {where}")
        for item, number in zip(some, found, strict=True):
            if isinstance(number, bool | str) or not math.isfinite(number):
                raise LuthierError(
                    f"{_said(scorer)}: expected a finite number for sentence {item.id!r} ({item.hyp!r:.60}), "
                    f"found {number!r}"
                )
            yield float(number)
