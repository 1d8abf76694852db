"""Tuned weights in a service: candidates in, the index of the best out, in microseconds and without a pool.

Scores are summed in the order of the weights, one multiplication and one addition at a time, and ties go to the first:
as `luthier rerank` does, so that both choose the same, near ties too.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from luthier.core.errors import InputError, LuthierError
from luthier.core.settings import parse_json, repeated
from luthier.kbest.serving.formula import OF_NUMBERS, Formula


class WeightsFile(NamedTuple):
    """What a JSON file of weights holds."""

    weights: dict[str, float]
    derived: dict[str, str]
    missing: dict[str, float]


def parse_weights(text: str, path: str) -> WeightsFile:
    """Return the content of a file, whose name in errors is `path`."""
    try:
        found = parse_json(text, parse_int=float, object_pairs_hook=lambda pairs: _once(pairs, path))
    except ValueError as error:
        msg, line = getattr(error, "msg", str(error)), getattr(error, "lineno", None)
        raise InputError(expected="a JSON object of names and numbers", found=msg, path=path, line=line) from None
    if not isinstance(found, dict):
        raise InputError(expected="a JSON object of names and numbers", found=type(found).__name__, path=path)
    if not isinstance(found.get("weights"), dict):
        return WeightsFile(_numbers(found, path), {}, {})
    formulas, missing = (part if isinstance(part := found.get(name), dict) else {} for name in ("add", "missing"))
    for name, formula in formulas.items():
        if not isinstance(formula, str):
            raise InputError(expected=f"a formula for {name!r}", found=repr(formula), path=path)
    return WeightsFile(_numbers(found["weights"], path), formulas, _numbers(missing, path))


def _numbers(found: Mapping[str, Any], path: str) -> dict[str, float]:
    for name, value in found.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise InputError(expected=f"a finite number for {name!r}", found=repr(value), path=path)
    return {name: float(value) for name, value in found.items()}


def _once(pairs: list[tuple[str, object]], path: str) -> dict[str, object]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise InputError(expected="each name once", found=f"{repeated(pairs)!r} twice", path=path)
    return table


LARGEST_WEIGHT = 1e150  # half of the range of numbers is left for features
TEXT_KEYS = ("hyp", "hypothesis", "text", "translation")
Candidate = Mapping[str, Any]


class Reranker:
    """A linear model of scorers. Nothing of it changes, so threads may share one.

    Candidates are dictionaries of numbers by scorer, of which other keys are ignored; or an array, (K, D), with a
    column for each of `scorers`, in their order. Features with a formula are computed. A formula that uses ``words``
    or ``chars`` takes the number of that name, or counts them in the candidate's text (``hyp`` or ``text``).

    Parameters
    ----------
    weights : by name; `luthier.Weights` bring their formulas and missing values
    derived : formulas of features, by name
    missing : what a scorer counts in a candidate that lacks it; a scorer without such a value must be there

    Examples
    --------
    >>> model = Reranker({"lm": 1.0, "kiwi": 2.0})
    >>> model.best([{"lm": -1.0, "kiwi": 0.5}, {"lm": -0.5, "kiwi": 0.75}])
    1
    """

    def __init__(
        self,
        weights: Mapping[str, float],
        *,
        derived: Mapping[str, str] | None = None,
        missing: Mapping[str, float] | None = None,
    ) -> None:
        derived = getattr(weights, "derived", {}) if derived is None else derived
        missing = getattr(weights, "missing", {}) if missing is None else missing
        self.weights: Mapping[str, float] = MappingProxyType(_checked(weights))
        self._pairs = tuple(self.weights.items())
        self._columns = tuple(enumerate(self.weights.values()))
        self._missing = {name: float(value) for name, value in missing.items()}
        formulas = {name: Formula(text) for name, text in derived.items()}
        self._formulas = tuple((name, formula, formula.compiled(OF_NUMBERS)) for name, formula in formulas.items())
        self._used = dict.fromkeys(n for f in formulas.values() for n in f.names if n not in formulas)
        self._optional = {name for name in self.weights if self._missing.get(name) == 0 and name not in self._used}
        self._places = {name: place for place, name in enumerate(self.weights)}
        self._always = [place for name, place in self._places.items() if name not in self._optional]
        self.scorers: tuple[str, ...] = tuple(
            dict.fromkeys([*(name for name in self.weights if name not in formulas), *self._used])
        )
        self._required = tuple(name for name in self.scorers if name not in self._optional)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Reranker:
        """Read weights, formulas and missing values, as ``luthier tune -o weights.json`` writes them."""
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except OSError as error:
            found = (error.strerror or str(error)).lower()
            raise InputError(expected="a readable file", found=found, path=str(path)) from None
        except UnicodeDecodeError:
            raise InputError(expected="weights as JSON, in UTF-8", found="other bytes", path=str(path)) from None
        if not text.lstrip().startswith("{"):
            raise InputError(
                expected="weights as a JSON object",
                found=repr(text.lstrip()[:20]),
                path=str(path),
                hint="'luthier data weights weights.txt weights.json' writes it",
            )
        weights, derived, missing = parse_weights(text, str(path))
        if not weights:
            raise InputError(expected="at least one weight", found="none", path=str(path))
        return cls(weights, derived=derived, missing=missing)

    def __repr__(self) -> str:
        """Return a short sentence."""
        shown = ", ".join(f"{name} {value:g}" for name, value in self._pairs[:6])
        return f"<Reranker: {shown}{', …' if len(self._pairs) > 6 else ''}>"

    def best(self, candidates: Sequence[Candidate] | Any) -> int:
        """Return the index of the best candidate; the first of equals."""
        scores = self.scores(candidates)
        if not scores:
            raise LuthierError("expected at least one candidate, found none")
        return scores.index(max(scores))

    def rank(self, candidates: Sequence[Candidate] | Any) -> list[int]:
        """Return the indices of the candidates, best first; equals keep their order."""
        scores = self.scores(candidates)
        return sorted(range(len(scores)), key=scores.__getitem__, reverse=True)

    def scores(self, candidates: Sequence[Candidate] | Any) -> list[float]:
        """Return the score of each candidate: the sum of weight times value, higher is better.

        Raises
        ------
        InputError
            A scorer that a candidate lacks, by name, or a value that is no finite number.
        """
        if hasattr(candidates, "shape"):
            return self._of_array(candidates)
        if isinstance(candidates, Mapping | str | bytes) or not isinstance(candidates, Iterable):
            kind = type(candidates).__name__
            raise LuthierError(f"expected a list of candidates, or an array (K, {len(self.scorers)}), found {kind}")
        candidates = candidates if isinstance(candidates, Sequence) else list(candidates)
        found = self._quick(candidates)
        return found if found is not None else [self._careful(one, place) for place, one in enumerate(candidates)]

    def _quick(self, candidates: Sequence[Candidate]) -> list[float] | None:
        """Return the scores of candidates that are plain dictionaries of all numbers; None where one is not."""
        pairs, formulas, found, check = self._pairs, self._formulas, [], 0.0
        try:
            for candidate in candidates:
                values = self._with_formulas(candidate) if formulas else candidate
                total = 0.0
                for name, weight in pairs:
                    total += weight * values[name]
                found.append(total)
                check += total
        except (LookupError, TypeError, ValueError, OverflowError, AttributeError):
            return None
        return found if type(check) is float and check - check == 0.0 else None

    def _with_formulas(self, candidate: Candidate) -> dict[str, float]:
        values: dict[str, Any] = {**candidate}
        for name in self._used:
            value = values.get(name)
            if type(value) is not float:
                if value is not None and type(value) is not int:
                    raise TypeError  # numbers of other kinds are rounded otherwise inside formulas
                number = _length(name, candidate) if value is None else float(value)
                if number is None:
                    raise LookupError
                values[name] = number
        for name, _, function in self._formulas:
            if name not in values:
                values[name] = function(values)
        return values

    def _of_array(self, array: Any) -> list[float]:
        """Return the scores of rows, whose numbers are those of `scorers`."""
        n = len(self.scorers)
        if len(array.shape) != 2 or array.shape[1] != n or not hasattr(array, "tolist"):
            what = f"shape {tuple(array.shape)}" if hasattr(array, "tolist") else type(array).__name__
            raise LuthierError(f"expected an array (K, {n}) with the columns {', '.join(self.scorers)}, found {what}")
        columns, rows, found, check = self._columns, array.tolist(), [], 0.0
        try:
            for row in rows if not self._formulas else ():
                total = 0.0
                for column, weight in columns:  # by number: faster than a zip of both
                    total += weight * row[column]
                found.append(total)
                check += total
        except (TypeError, ValueError, OverflowError):
            check = math.nan
        if not self._formulas and type(check) is float and check - check == 0.0:
            return found
        named = [dict(zip(self.scorers, row, strict=True)) for row in rows]
        again = self._quick(named) if self._formulas else None
        return again if again is not None else [self._careful(one, place) for place, one in enumerate(named)]

    def _careful(self, candidate: Candidate, place: int) -> float:
        """Return the score of a candidate of any kind, or raise what is wrong with it."""
        if not isinstance(candidate, Mapping):
            raise _error(place, "scores by name", f"{type(candidate).__name__} {candidate!r:.60}")
        values, missing = dict(candidate), self._missing
        wanted = [*self._required, *(name for name in candidate if name in self._optional)]
        lacking = []
        for name in wanted:
            given = values.get(name)
            if given is None:
                given = missing.get(name, _length(name, candidate) if name in self._used else None)
            if given is None:
                lacking.append(name)
            else:
                values[name] = _number(given, name, place)
        if lacking:
            raise _error(
                place,
                f"the scorers {', '.join(repr(name) for name in self.scorers[:12])}",
                f"none called {', '.join(repr(name) for name in lacking[:5])}",
                'a scorer that may be missing needs a value under "missing" in the file of weights',
            )
        for name, formula, function in self._formulas:
            if values.get(name) is None:
                values[name] = function(values)
                if not math.isfinite(values[name]):
                    made_of = ", ".join(f"{part} = {values[part]:g}" for part in formula.names) or "a number alone"
                    raise _error(place, f"a finite {name} = {formula.text}", f"{values[name]} ({made_of})")
            else:
                values[name] = _number(values[name], name, place)
        return self._total(values, candidate, place)

    def _total(self, values: Mapping[str, float], candidate: Candidate, place: int) -> float:
        total, pairs = 0.0, self._pairs
        if self._optional:
            there = [self._places[name] for name in candidate if name in self._optional and name in values]
            pairs = tuple(pairs[k] for k in sorted([*self._always, *there]))
        for name, weight in pairs:
            total += weight * (values[name] or 0.0)
        if not math.isfinite(total):
            raise _error(place, "scores that can be weighted and added", f"a sum of {total}", "scale them down")
        return total


def _checked(weights: object) -> dict[str, float]:
    """Return weights by name, or raise what is wrong with them."""
    if not isinstance(weights, Mapping) or not weights:
        kind = type(weights).__name__ if weights or not isinstance(weights, Mapping) else "none"
        raise LuthierError(f"expected weights by name, found {kind}. hint: Reranker.load reads a file")
    found = {}
    for name, value in weights.items():
        try:
            number = math.nan if isinstance(value, bool | str) else float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not isinstance(name, str) or not abs(number) <= LARGEST_WEIGHT:
            raise LuthierError(
                f"the weight of {name!r} must be a number of at most {LARGEST_WEIGHT:g}, found {value!r}"
            )
        found[name] = number
    return found


def _number(value: Any, name: str, place: int) -> float:
    try:
        number = math.nan if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise _error(place, f"a finite number for {name!r}", repr(value))
    return number


def _length(name: str, candidate: Candidate) -> float | None:
    """Return the words or characters of a candidate's text; None for another name, or without a text."""
    text = next((text for key in TEXT_KEYS if isinstance(text := candidate.get(key), str)), None)
    if text is None or name not in ("words", "chars"):
        return None
    return float(len(text.split()) if name == "words" else len(text))


def _error(place: int, expected: str, found: str, hint: str = "") -> InputError:
    return InputError(expected=expected, found=found, path=f"candidate {place}", hint=hint)
