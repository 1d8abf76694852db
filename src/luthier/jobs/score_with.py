"""One more scorer: ``luthier.score_with(scorer, pool, name="kiwi", output="pool2.arrow")``."""

from __future__ import annotations

import array
import contextlib
import dataclasses
import hashlib
import math
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core import plugins
from luthier.core.arrays import Float64, Int64
from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import check_apart, check_writable, display_name
from luthier.core.files.journal import JournalWriter, each_record
from luthier.core.html import Shown
from luthier.core.params import checked, path_of
from luthier.core.progress import notice, progress
from luthier.core.segments import segment_of_rows
from luthier.corpus.texts import Texts
from luthier.features.consensus.pairs import PairScorer
from luthier.jobs.opening import AnyPath, AnyPool, pool_at
from luthier.jobs.scoring_program import CountError, Program
from luthier.kbest.pool import Pool
from luthier.kbest.storage.pool_file import save_pool
from luthier.kbest.storage.writer import ids_as_they_came
from luthier.scorers._scorer import PACKAGE, Item, Scorer

KEPT = ".scores"  # beside the output: answers, so that a run that was ended goes on
BATCH = 64
KEEP_SECONDS, KEEP_ANSWERS = 1.0, 1000
KEY = np.dtype([("high", ">u8"), ("low", ">u8")])  # a digest of a scorer and what it was given


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
    batch: int = BATCH,
    cache: AnyPath | None = None,
) -> ScoringReport:
    """Score every hypothesis of a pool, and write the pool with the numbers as one more feature.

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
    begin, answers = time.monotonic(), Answers(opened, scorer_version, place, batch)
    values = answers.of(items_of(lists, references=references))
    made = lists.with_columns({name: values}) if references else lists.with_features({name: values})
    save_pool(made.noting("score", name=name, scorer=_said(opened), version=scorer_version), path)
    n = len(values)
    low, mean, high = (float(f(values)) if n else None for f in (np.min, np.mean, np.max))
    role = "column" if references else "feature"
    seconds = time.monotonic() - begin
    files = display_name(path), display_name(place)
    return ScoringReport(_said(opened), name, role, *files, n, answers.scored, answers.kept, low, mean, high, seconds)


def pair_scorer(
    name: str, scorer: str | Scorer, pool: Pool, *, bounds: tuple[float, float] | None, cache: str | None
) -> PairScorer:
    """Return a scorer of hypotheses with references as one of pairs: the reference is another hypothesis.

    What it is given is what `score_with` gives with `references`; `bounds` are the lowest and highest score.
    """
    answers = Answers(scorer_of(scorer, {}), "", cache, BATCH)
    ids, sources = ids_as_they_came(pool), pool.sources
    src = [""] * pool.n_sentences if sources is None else list(sources)

    def score(sentences: Int64, hypotheses: Texts, references: Texts) -> Float64:
        pairs = zip(sentences.tolist(), hypotheses, references, strict=True)
        return answers.of([Item(ids[i], src[i], hypothesis, (reference,)) for i, hypothesis, reference in pairs])

    try:
        low, high = (-math.inf, math.inf) if bounds is None else map(float, bounds)
    except (TypeError, ValueError):
        raise LuthierError(
            f"expected the lowest and the highest score of {name} as `bounds`, found {bounds!r}"
        ) from None
    return PairScorer(name, score, low, high)


def scorer_of(scorer: str | Scorer, option: Mapping[str, Any], folder: str = "") -> Scorer | Program:
    """Return a scorer of this process, by its name and options, or the program that a command is.

    Paths start from a `folder`, if one is given: the program is started there, and options that name files are in it.
    """
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
        return Program(scorer, **option, folder=folder)
    method = plugins.load(PACKAGE, scorer)
    known = [field.name for field in dataclasses.fields(method)]
    unknown = [name for name in option if name not in known]
    if unknown:
        raise LuthierError(f"the scorer {scorer} has no option {unknown[0]!r}. it has: {', '.join(known)}")
    made: Scorer = method(**{name: _below(folder, value) for name, value in option.items()})
    return made


def _below(folder: str, value: Any) -> Any:
    """Return a value; that of a file in a folder is the file's path."""
    path = os.path.join(folder, value) if folder and isinstance(value, str) else ""
    return path if path and value and os.path.lexists(path) else value


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


def items_of(pool: Pool, *, references: bool = False) -> list[Item]:
    """Return what a scorer is given of each hypothesis, (M,)."""
    ids, sources = ids_as_they_came(pool), pool.sources
    src = [""] * pool.n_sentences if sources is None else list(sources)
    refs: list[tuple[str, ...] | None] = [None] * pool.n_sentences
    if references and pool.references is not None:
        refs = [tuple(pool.references.of(i)) for i in range(pool.n_sentences)]
    sentences = segment_of_rows(pool.offsets).tolist()
    return [Item(ids[i], src[i], text, refs[i]) for i, text in zip(sentences, pool.texts, strict=True)]


class Answers:
    """The answers of a scorer: those that a file has are not asked for again, and new ones go to it as they come.

    An answer of before takes 24 bytes of memory; those of now are held by nobody, unless they are to be remembered.

    Parameters
    ----------
    version : another version's answers are others
    place : the file; None keeps nothing
    batch : hypotheses that a scorer of this process is given at once
    """

    def __init__(self, scorer: Scorer | Program, version: str, place: str | None, batch: int) -> None:
        self._scorer, self._identity = scorer, f"{scorer.identity()} {version}"
        self._place, self._batch = place, batch
        self._keys, self._numbers, self._length = _read_kept(place)
        self.scored = self.kept = 0

    def of(self, items: Sequence[Item], *, remember: bool = False) -> Float64:
        """Return the score of each item, (n,); what stands twice is scored once, and not again if it is remembered."""
        lines = (hashlib.blake2b(f"{self._identity}\n{item.line()}".encode(), digest_size=16) for item in items)
        keys = np.frombuffer(b"".join(line.digest() for line in lines), dtype=KEY)
        found = self._known(keys)
        missing = np.flatnonzero(np.isnan(found))
        self.kept += len(items) - len(missing)
        if not len(missing):
            return found
        _, first, same = np.unique(keys[missing], return_index=True, return_inverse=True)
        order = np.argsort(first)  # as they came, so that a run that was ended goes on where it stood
        new = self._ask([items[k] for k in missing[first[order]].tolist()], keys[missing[first[order]]])
        numbers = np.empty(len(first))
        numbers[order] = new
        found[missing] = numbers[same]
        self.scored += len(first)
        if remember:
            both = np.concatenate([self._keys, keys[missing[first]]])
            at = np.argsort(both["high"], kind="stable")
            self._keys, self._numbers = both[at], np.concatenate([self._numbers, numbers])[at]
        return found

    def _known(self, keys: Any) -> Float64:
        """Return the answers that were kept before, NaN where there is none; keys alike in half are as good as none."""
        found: Float64 = np.full(len(keys), np.nan)
        if len(self._keys):
            at = np.minimum(np.searchsorted(self._keys["high"], keys["high"]), len(self._keys) - 1)
            same = self._keys[at] == keys
            found[same] = self._numbers[at[same]]
        return found

    def _ask(self, items: Sequence[Item], keys: Any) -> Float64:
        with contextlib.ExitStack() as stack:
            journal = None if self._place is None else stack.enter_context(JournalWriter(self._place, self._length))
            advance = stack.enter_context(progress("scoring", len(items)))
            kept = _Keeping(journal, keys)
            try:
                for number in _answers(self._scorer, items, self._batch):
                    kept.add(number)
                    advance(1)
            except CountError:
                kept.forget()
                raise
            except KeyboardInterrupt:
                where = f" and kept in {self._place}; the same command goes on from there" if self._place else ""
                notice(f"{len(kept.found)} of {len(items)} are scored{where}")
                raise
            finally:
                kept.write()
                self._length = self._length if journal is None else journal.length
        return np.array(kept.found)


class _Keeping:
    """Answers that go to a journal, where there is one, in groups, about one a second."""

    def __init__(self, journal: JournalWriter | None, keys: Any) -> None:
        self._journal, self._keys, self._written = journal, keys, 0
        self.found: list[float] = []
        self._last, self._length = time.monotonic(), journal.length if journal is not None else 0

    def add(self, number: float) -> None:
        self.found.append(number)
        if len(self.found) - self._written >= KEEP_ANSWERS or time.monotonic() - self._last > KEEP_SECONDS:
            self.write()

    def forget(self) -> None:
        """Take all answers back: they may belong to other hypotheses."""
        self._written = len(self.found)
        if self._journal is not None:
            self._journal.cut(self._length)

    def write(self) -> None:
        begin, self._written, self._last = self._written, len(self.found), time.monotonic()
        keys = (bytes(key).hex() for key in self._keys[begin : self._written])
        if self._journal is not None and begin < self._written:
            numbers = self.found[begin : self._written]
            self._journal.append(*({"key": key, "score": n} for key, n in zip(keys, numbers, strict=True)))


def _read_kept(place: str | None) -> tuple[Any, Float64, int]:
    """Return the keys in a file, sorted, their answers, and how many of its bytes they take."""
    keys, numbers, length = bytearray(), array.array("d"), 0
    if place is not None and Path(place).exists():
        for number, (record, end) in enumerate(each_record(place, "an answer of a scorer"), start=1):
            score, key = record.get("score"), record.get("key")
            good = isinstance(key, str) and re.fullmatch("[0-9a-f]{32}", key) is not None
            if not good or isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
                raise InputError(expected="an answer of a scorer", found=repr(record), path=place, line=number)
            keys += bytes.fromhex(str(key))
            numbers.append(float(score))
            length = end
    found = np.frombuffer(bytes(keys), dtype=KEY)
    order = np.argsort(found["high"], kind="stable")
    return found[order], np.frombuffer(numbers, dtype=np.float64)[order], length


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
