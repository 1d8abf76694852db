"""What a scorer is: a class `Method` whose `score` takes a batch of hypotheses and returns a number for each."""

from __future__ import annotations

import abc
import dataclasses
import json
import os
from collections.abc import Sequence
from pathlib import Path

from luthier.core.params import validate

PACKAGE = "luthier.scorers"


@dataclasses.dataclass(frozen=True)
class Item:
    """A hypothesis to score; `refs` only where references were asked for."""

    id: int | str
    src: str
    hyp: str
    refs: tuple[str, ...] | None = None

    def line(self) -> str:
        """Return it as a line of JSON: id, src, hyp and, where there are references, ref."""
        found: dict[str, object] = {"id": self.id, "src": self.src, "hyp": self.hyp}
        if self.refs is not None:
            found["ref"] = list(self.refs)
        return json.dumps(found, ensure_ascii=False)


@dataclasses.dataclass(frozen=True)
class Scorer(abc.ABC):
    """Base of all scorers; parameters are dataclass fields made by `param`."""

    def __post_init__(self) -> None:
        validate(self)

    @abc.abstractmethod
    def score(self, batch: Sequence[Item]) -> Sequence[float]:
        """Return a finite number for each hypothesis; higher or lower is better, as weights will say."""

    def identity(self) -> str:
        """Return what the numbers depend on: the class, its parameters, and the files that these name."""
        values = [getattr(self, field.name) for field in dataclasses.fields(self)]
        stamps = [stamp(value) for value in values if isinstance(value, str)]
        return " ".join([type(self).__module__, repr(self), *stamps])


def stamp(name: str) -> str:
    """Return sizes and times of a file, or of the files in a folder; '' where there is none of that name."""
    path = Path(name)
    try:
        files = [path] if path.is_file() else sorted(path.iterdir()) if name and path.is_dir() else []
        stats = [(str(file), file.stat()) for file in files if file.is_file()]
    except (OSError, ValueError):
        return ""
    return " ".join(f"{os.fspath(file)}:{found.st_size}:{found.st_mtime_ns}" for file, found in stats)
