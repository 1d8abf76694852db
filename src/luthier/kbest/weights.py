"""Weights by name, as files have them, and as the vector a pool needs."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Real
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import InputError, LuthierError, excerpt, warn
from luthier.core.files.io import display_name, open_output
from luthier.core.html import as_table, bar
from luthier.core.params import names_of, path_of
from luthier.corpus.lines import read_lines
from luthier.kbest.features import unknown_names
from luthier.kbest.serving.reranker import LARGEST_WEIGHT, parse_weights

WeightFormat = Literal["text", "equals", "moses", "json"]
MOSES_SECTION, SPARSE_SECTION = "[weight]", "[weight-file]"
SETTING, NUMBER = re.compile(r"[\w-]+\s+=\s*(.*)"), re.compile(r"[+-]?[\d.]+(?:[eE][+-]?\d+)?")
FORMULA = re.compile(r"#\s*add\s+([^\s=]+)=(.+)")  # a comment to others
# Weights and features with fewer common names than these do not belong together.
LEAST_COMMON, LEAST_SHARE = 3, 0.1
LARGEST = sys.float_info.max


@dataclasses.dataclass(frozen=True)
class Weights(Mapping[str, float]):
    """A finite number for each of some names, in their order.

    `derived` are the formulas of features that lists do not have of themselves (`luthier.kbest.derived`), by name;
    `missing` is what features count in a candidate that lacks them.
    """

    values_by_name: Mapping[str, float]
    derived: Mapping[str, str] = dataclasses.field(default_factory=dict)
    missing: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.values_by_name, Mapping):
            raise LuthierError(f"expected weights by name, found {type(self.values_by_name).__name__}")
        given: Mapping[str, object] = self.values_by_name
        names_of(list(given), "features")
        for name, value in given.items():
            if isinstance(value, bool | np.bool_) or not isinstance(value, Real) or not _fits(value):
                raise LuthierError(f"the weight of {name!r} must be a finite number, found {value!r}")
        object.__setattr__(self, "values_by_name", MappingProxyType(dict(self.values_by_name)))
        object.__setattr__(self, "derived", MappingProxyType(dict(self.derived)))
        object.__setattr__(self, "missing", MappingProxyType(dict(self.missing)))

    @classmethod
    def from_vector(
        cls,
        names: Sequence[str],
        vector: Float64,
        derived: Mapping[str, str] | None = None,
        missing: Mapping[str, float] | None = None,
    ) -> Weights:
        """Name the components of a vector."""
        values = dict(zip(names, np.asarray(vector, dtype=np.float64).tolist(), strict=True))
        return cls(values, derived or {}, missing or {})

    def __reduce__(self) -> tuple[object, ...]:
        """Survive a trip between processes, although a read-only view of a dictionary does not."""
        return (Weights, (dict(self.values_by_name), dict(self.derived), dict(self.missing)))

    def __repr__(self) -> str:
        """Return a short sentence."""
        shown = ", ".join(f"{name} {value:g}" for name, value in list(self.items())[:6])
        return f"<Weights: {shown}{', …' if len(self) > 6 else ''}>"

    def _repr_html_(self) -> str:
        """Return them for a notebook, with a bar for each."""
        largest = max(map(abs, self.values()), default=0.0)
        rows = [(name, value, bar(value, largest)) for name, value in self.items()]
        return as_table("Weights", ("feature", "weight", ""), rows)

    def __getitem__(self, name: str) -> float:
        return self.values_by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)

    def normalized(self, how: str) -> Weights:
        """Return weights that select the same: with absolute values (``l1``) or squares (``l2``) that sum to 1, or
        with a weight of absolute value 1 for the feature called `how`.

        >>> dict(Weights({"am": 2.0, "lm": 1.0}).normalized("am"))
        {'am': 1.0, 'lm': 0.5}
        """
        values = np.array(list(self.values()))
        if how not in ("l1", "l2") and how not in self:
            raise LuthierError(f"cannot normalize by {how!r}: {unknown_names([how], [*self, 'l1', 'l2'])}")
        if not np.any(values) or self.get(how, 1.0) == 0:
            raise LuthierError(f"cannot normalize by {how!r}: that is 0")
        with np.errstate(all="ignore"):
            scaled = values / np.abs(values).max()  # so that sums and squares stay finite
            sizes = {"l1": np.abs(scaled).sum(), "l2": np.sqrt((scaled**2).sum())}
            found = scaled / sizes[how] if how in sizes else values / abs(self[how])
        if not np.isfinite(found).all() or np.any((found == 0) != (values == 0)):
            raise LuthierError(f"cannot normalize by {how!r}: weights are too small or too large beside one another")
        if self.get(how, 0.0) < 0:
            told = f"the weight of {how!r} is negative and becomes -1: dividing by it would turn the ranking round"
            warn(told, stacklevel=2)
        return Weights.from_vector(list(self), found, self.derived, self.missing)

    def vector(self, names: Sequence[str], *, source: str = "the weights", strict: bool = False) -> Float64:
        """Return the weights in the order of a pool's features, (D,).

        A feature without a weight counts 0, and so does a weight without a feature: lists with sparse features seldom
        have all of them, and files of weights have entries of their own. Both are said in a warning. Where few names
        match, weights and lists do not belong together: that is an error. With `strict`, so is every weight without
        a feature.
        """
        names = names_of(names, "features")
        known = set(names)
        unknown = [name for name in self if name not in known]
        if unknown and (strict or too_few(len(self) - len(unknown), len(self), len(known))):
            raise LuthierError(f"{source}: {unknown_names(unknown, names)}")
        if unknown:
            _count_as_0(f"{source}: {len(unknown)} of {len(self)} weights are of features that the lists lack", unknown)
        missing = [name for name in names if name not in self]
        if missing:
            _count_as_0(f"{source}: {len(missing)} of {len(names)} features have no weight", missing)
        vector = np.array([self.get(name, 0.0) for name in names], dtype=np.float64)
        check_sizes(vector)
        return vector


def _fits(number: Any) -> bool:
    """Return whether a number is finite as a float."""
    return bool(abs(number) <= LARGEST)


def check_sizes(weights: Float64, largest_feature: float = 0.0) -> None:
    """Raise where weights are not finite, or so large that sums of weights times features might not be."""
    if not np.isfinite(weights).all():
        raise LuthierError("weights must be finite numbers")
    if np.abs(weights).max(initial=0.0) > LARGEST_WEIGHT:
        raise LuthierError(
            f"expected weights of at most {LARGEST_WEIGHT:g}, found {np.abs(weights).max():g}. hint: only their "
            "direction matters: divide all of them by one number"
        )
    with np.errstate(over="ignore"):
        if not np.isfinite(np.abs(weights).sum(axis=-1).max(initial=0.0) * largest_feature):
            raise LuthierError(
                f"expected features that can be weighted and added, found one of {largest_feature:g}. "
                "hint: scale it down"
            )


def vector_of(weights: object, names: Sequence[str], what: str = "weights") -> Float64:
    """Return weights, (D,): of names in a mapping, or those of an array as they are; `what` is their name in errors.

    >>> vector_of({"lm": 2, "tm": 1}, ["tm", "lm"]).tolist()
    [1.0, 2.0]
    """
    if isinstance(weights, Mapping):
        found = weights if isinstance(weights, Weights) else Weights(weights)
        return found.vector(names)
    try:
        vector = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise no_weights(weights) from None
    if vector.shape != (len(names),) or not np.isfinite(vector).all():
        raise LuthierError(f"expected {len(names)} finite {what}, found {np.array2string(vector, threshold=8)}")
    check_sizes(vector)
    return vector


def no_weights(found: object) -> LuthierError:
    """Return the complaint about what should be weights; an answer has some, and a file is read first."""
    hint = ". hint: its .weights are what is meant" if hasattr(found, "weights") else ""
    hint = ". hint: luthier.read_weights reads a file" if isinstance(found, str | os.PathLike) else hint
    return LuthierError(f"expected weights by name or an array of numbers, found {found!r}{hint}")


def too_few(common: int, n_weights: int, n_features: int) -> bool:
    """Return whether so few names are common that weights and features do not belong together.

    Fewer than three of them, unless there are no more, or less than a tenth of the smaller number.

    >>> too_few(2, 8, 9), too_few(2, 2, 9), too_few(200, 9000, 1000)
    (True, False, False)
    """
    smaller = min(n_weights, n_features)
    return common < min(LEAST_COMMON, smaller) or common < LEAST_SHARE * smaller


def _count_as_0(what: str, names: Sequence[str]) -> None:
    shown = ", ".join(repr(name) for name in names[:5]) + (" …" if len(names) > 5 else "")
    warn(f"{what} and count 0: {shown}", stacklevel=3)


def read_weights(path: str | os.PathLike[str]) -> Weights:
    """Read weights: ``name value`` lines, a Moses ``[weight]`` section, or a JSON object, by content.

    Sparse weights of a Moses configuration are in the file that its ``[weight-file]`` names, and are read with it.
    """
    lines = list(read_lines(path_of(path, "a file of weights")))
    name = display_name(path)
    text = "\n".join(lines)
    if text.lstrip().startswith("{"):
        found = Weights(*parse_weights(text, name))
    elif any(line.strip() == MOSES_SECTION for line in lines):
        found = _from_moses(lines, name, sparse_weights(lines, path))
    else:
        found = _from_lines(lines, name)
    if not found:
        raise InputError(expected="at least one weight", found="none", path=name)
    formulas = {match[1]: match[2].strip() for line in lines if (match := FORMULA.fullmatch(line.strip()))}
    return dataclasses.replace(found, derived={**found.derived, **formulas})


def sparse_weights(lines: Sequence[str], path: str | os.PathLike[str]) -> dict[str, float]:
    """Return the weights in the file that ``[weight-file]`` names, from here as for Moses, else from beside `path`."""
    place = next((k for k, line in enumerate(lines) if line.strip() == SPARSE_SECTION), len(lines))
    named = next((text for line in lines[place + 1 :] if (text := line.strip()) and not text.startswith("#")), "[")
    if named.startswith("["):
        return {}
    places = Path(named), Path(path).parent / named, Path(path).parent / Path(named).name
    found = next((file for file in places if file.is_file()), None)
    if found is None:
        told = f"{display_name(path)}: there is no file {named!r}, which {SPARSE_SECTION} names: its weights count 0"
        warn(told, stacklevel=3)
        return {}
    return dict(_from_lines(list(read_lines(found)), display_name(found)))


def _from_moses(lines: list[str], path: str, sparse: Mapping[str, float]) -> Weights:
    """Read ``Name= v v`` lines of the section; several values are name_0, name_1, … as in the lists."""
    found: dict[str, float] = dict(sparse)
    inside = False
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if text.startswith("["):
            inside = text == MOSES_SECTION
        elif inside and text and not text.startswith("#"):
            name, equals, rest = text.rpartition("=")
            if not equals or not rest.split():
                raise InputError(expected="'Name= value …'", found=excerpt(text.encode()), path=path, line=number)
            values = rest.split()
            for position, value in enumerate(values):
                full = name.strip() if len(values) == 1 else f"{name.strip()}_{position}"
                _put(found, full, value, path, number)
    return Weights({name: found[name] for name in [*(name for name in found if name not in sparse), *sparse]})


def _from_lines(lines: list[str], path: str) -> Weights:
    found: dict[str, float] = {}
    settings = _is_configuration(lines)
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("#") or (settings and SETTING.fullmatch(text)):
            continue
        parts = text.rsplit(None, 1)
        if len(parts) == 1:
            parts = list(text.rpartition("=")[::2])
        if len(parts) != 2 or not parts[0]:
            raise InputError(
                expected="'name value'",
                found=excerpt(text.encode()),
                path=path,
                line=number,
                hint="weights are 'name value' lines, a Moses [weight] section, or a JSON object",
            )
        _put(found, parts[0].removesuffix("=").rstrip(), parts[1], path, number)
    return Weights(found)


def _is_configuration(lines: list[str]) -> bool:
    """Return whether lines are those of Joshua: settings ``key = text``, and weights ``name value`` among them."""
    texts = [line.strip() for line in lines]
    settings = [match for text in texts if (match := SETTING.fullmatch(text))]
    pairs = any(len(text.split()) == 2 and "=" not in text for text in texts if not text.startswith("#"))
    return pairs and not all(NUMBER.fullmatch(match[1]) for match in settings)


def _put(found: dict[str, float], name: str, value: str, path: str, line: int) -> None:
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not np.isfinite(number) or "_" in value:
        raise InputError(expected=f"a finite number for {name!r}", found=repr(value), path=path, line=line)
    if name in found:
        raise InputError(expected="each name once", found=f"{name!r} again", path=path, line=line)
    found[name] = number


def write_weights(
    weights: Mapping[str, float], path: str | os.PathLike[str], *, style: WeightFormat | None = None
) -> None:
    """Write weights; the style is told by the name's ending (.json, .ini, else ``name value``) unless given.

    "equals" is ``name=value``. Numbers are written in the shortest form that reads back to the same bits.
    """
    ending = Path(str(path).removesuffix(".gz").removesuffix(".zst")).suffix
    style = style or {".json": "json", ".ini": "moses"}.get(ending, "text")  # type: ignore[assignment]
    formulas = weights.derived if isinstance(weights, Weights) else {}
    above = "".join(f"# add {name}={formula}\n" for name, formula in formulas.items())
    if style == "json":
        missing = weights.missing if isinstance(weights, Weights) else {}
        more = {name: dict(part) for name, part in (("add", formulas), ("missing", missing)) if part}
        text = (
            json.dumps({"weights": dict(weights), **more} if more else dict(weights), indent=1, ensure_ascii=False)
            + "\n"
        )
    elif style == "moses":
        text = above + MOSES_SECTION + "\n" + "".join(f"{line}\n" for line in _moses_lines(weights))
    elif style == "equals":
        if formulas:
            warn("formulas of added features are not kept in 'name=value'", stacklevel=2)
        text = "".join(f"{_one_word(name)}={float(value)!r}\n" for name, value in weights.items())
    else:
        text = above + "".join(f"{_plain(name)} {float(value)!r}\n" for name, value in weights.items())
    with open_output(path) as file:
        file.write(text.encode("utf-8"))


def replace_moses_section(lines: Iterable[str], weights: Mapping[str, float]) -> list[str]:
    """Return the lines of a Moses configuration with other weights in its ``[weight]`` section.

    >>> replace_moses_section(["[input-factors]", "0", "[weight]", "LM0= 0.5"], {"LM0": 1.0})
    ['[input-factors]', '0', '[weight]', 'LM0= 1.0']
    """
    found, inside, written = [], False, False
    for line in lines:
        if line.strip().startswith("["):
            inside = line.strip() == MOSES_SECTION
        if not inside:
            found.append(line)
        elif not written:
            found += [MOSES_SECTION, *_moses_lines(weights)]
            written = True
    return found if written else [*found, MOSES_SECTION, *_moses_lines(weights)]


def _plain(name: str) -> str:
    """Return a name that survives ``name value``, or say why it does not."""
    if name != name.strip() or not name or name[0] in "#[{" or name.endswith("=") or re.search(r"[\r\n]", name):
        raise LuthierError(
            f"the name {name!r} cannot be written as a 'name value' line. hint: write weights.json instead"
        )
    return name


def _one_word(name: str) -> str:
    """Return a name that survives ``name=value``, or say why it does not."""
    if re.search(r"\s", _plain(name)):
        raise LuthierError(f"the name {name!r} cannot be written as 'name=value'. hint: use JSON")
    return name


def _moses_lines(weights: Mapping[str, float]) -> Iterator[str]:
    """Gather name_0, name_1, … (complete, from 0) under one label; other names stand alone."""
    done: set[str] = set()
    for name, value in weights.items():
        if name in done:
            continue
        label, underscore, _ = name.rpartition("_")
        group: list[str] = []
        while underscore and f"{label}_{len(group)}" in weights:
            group.append(f"{label}_{len(group)}")
        if not name or name[0] in "#[" or re.search(r"\s|=$", name):
            raise LuthierError(f"the name {name!r} cannot stand in a [weight] section. hint: use JSON")
        if len(group) > 1 and name in group:
            done.update(group)
            yield f"{label}= " + " ".join(repr(float(weights[item])) for item in group)
        else:
            yield f"{name}= {float(value)!r}"
