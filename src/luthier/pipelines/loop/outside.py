"""Decoders of others: a command with places for weights, source, lists, K and number, run without a shell."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import shutil
import tempfile
import warnings
from pathlib import Path

import numpy as np

from luthier.core.errors import InputError, LuthierError, LuthierWarning
from luthier.core.files.io import content_hash, make_folder, regular, write_lines
from luthier.core.programs import ProgramError, last_lines, run_program
from luthier.corpus.lines import read_lines
from luthier.kbest.pool import Pool
from luthier.kbest.reading.lists import ReadOptions, read_lists
from luthier.kbest.weights import WeightFormat, Weights, replace_moses_section, write_weights
from luthier.tuning.loop import NumberedDecoder

PLACES = ("weights", "source", "kbest", "k", "iteration")
# What a decoder may write: the log, and each hypothesis that it is asked for with its features.
MOST_BYTES, BYTES_OF_HYPOTHESIS = 1 << 26, 1 << 16
ENDINGS = {"text": "txt", "equals": "txt", "moses": "ini", "json": "json"}


@dataclasses.dataclass(frozen=True)
class Command:
    """How an outside decoder is called and what it writes.

    Attributes
    ----------
    template : arguments, in which ``{weights}`` and so on are replaced
        Without ``{source}`` it reads the source from standard input; without ``{kbest}`` it prints the lists.
    k : hypotheses asked for
    seconds : time limit of one decoding; 0 is none
    style : how weights are written
    into : a Moses configuration whose ``[weight]`` section gets the weights, or ''
    reading : how its lists are read
    allow_empty : let sentences have no hypotheses
    """

    template: tuple[str, ...]
    k: int = 100
    seconds: float = 0.0
    style: WeightFormat = "text"
    into: str = ""
    reading: ReadOptions = dataclasses.field(default_factory=ReadOptions)
    allow_empty: bool = False

    def arguments(self, values: dict[str, str]) -> list[str]:
        """Return the arguments with their places filled; what a place gets stays one argument, whatever is in it."""
        return [_filled(argument, values) for argument in self.template]

    def has(self, place: str) -> bool:
        """Return whether the template has a place."""
        return any(f"{{{place}}}" in argument for argument in self.template)


@dataclasses.dataclass(frozen=True)
class OutsideDecoder(NumberedDecoder):
    """An outside decoder on one set of sentences.

    Attributes
    ----------
    folder : where the command is started
    work : where its files stand while it runs; those of a run that failed stay
    """

    command: Command
    source: str
    refs: tuple[str, ...]
    part: str
    folder: str
    work: str

    def decode(self, weights: Weights, number: int) -> Pool:
        """Run the decoder once; return its lists.

        Raises
        ------
        ProgramError
            It failed, took too long, or its lists are not what they should be; its last words are in the error.
        """
        make_folder(self.work)
        # a folder for each attempt: what an orphan of a killed run still writes does no harm
        place = Path(tempfile.mkdtemp(prefix=f"{self.part}.{number:03d}.", dir=self.work))
        kbest, log = place / "kbest.txt", place / "log.txt"
        values = {
            "weights": str(self._write_weights(weights, place)), "source": str(Path(self.source).absolute()),
            "kbest": str(kbest), "k": str(self.command.k), "iteration": str(number),
        }  # fmt: skip
        what = f"the decoder ({self.command.template[0]})"
        run_program(
            self.command.arguments(values), log=log, folder=Path(self.folder), what=what, seconds=self.command.seconds,
            most_bytes=MOST_BYTES + len(read_lines(self.source)) * self.command.k * BYTES_OF_HYPOTHESIS,
            stdin=None if self.command.has("source") else Path(self.source),
            stdout=None if self.command.has("kbest") else kbest,
        )  # fmt: skip
        pool = self._read(kbest, log, what)
        for attempt in Path(self.work).glob(f"{self.part}.{number:03d}.*"):  # also those that failed or were killed
            shutil.rmtree(attempt, ignore_errors=True)
        with contextlib.suppress(OSError):  # attempts of the other part may be left
            Path(self.work).rmdir()
        return pool

    def identity(self) -> str:
        """Return what must be the same for a loop to go on: the command, the way of reading, and the sentences."""
        parts = [repr(dataclasses.replace(self.command, seconds=0.0)), *map(content_hash, (self.source, *self.refs))]
        return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()

    def _write_weights(self, weights: Weights, place: Path) -> Path:
        path = place / f"weights.{ENDINGS[self.command.style]}"
        if self.command.into:
            lines = read_lines(regular(Path(self.folder) / self.command.into))
            write_lines(path, replace_moses_section(lines, weights))
        else:
            write_weights(weights, path, style=self.command.style)
        return path

    def _read(self, kbest: Path, log: Path, what: str) -> Pool:
        if not kbest.is_file():
            raise ProgramError(f"{what} ended well, but wrote no lists to {kbest}. {last_lines(log)}")
        options = dataclasses.replace(self.command.reading, allow_empty=True)
        try:
            with warnings.catch_warnings():  # lists that are empty are counted below
                warnings.filterwarnings("ignore", "[0-9]+ of [0-9]+ sentences have no hypotheses", LuthierWarning)
                pool = read_lists([str(kbest)], self.refs, self.source, options).pool
            self._check(pool)
        except LuthierError as error:
            raise ProgramError(f"{what} ended well, but its lists cannot be used: {error} {last_lines(log)}") from None
        return pool

    def _check(self, pool: Pool) -> None:
        """Raise if a sentence that has words has no hypotheses."""
        assert pool.sources is not None
        empty = [i for i in np.flatnonzero(pool.list_lengths == 0).tolist() if pool.sources[i].strip()]
        if empty and not self.command.allow_empty:
            raise InputError(
                expected=f"hypotheses for each of {pool.n_sentences} sentences", found=f"none for {len(empty)}",
                path=self.source, line=empty[0] + 1,
                hint="allow_empty = true in [decoder] lets such sentences be left out",
            )  # fmt: skip


def _filled(argument: str, values: dict[str, str]) -> str:
    """Return an argument with its places filled, from left to right: what was filled in is not looked at again.

    >>> _filled("-w={weights};{k}{x}", {"weights": "{k}", "k": "5"})
    '-w={k};5{x}'
    """
    found, rest = "", argument
    while rest:
        places = [(rest.find(f"{{{name}}}"), name) for name in values if f"{{{name}}}" in rest]
        if not places:
            return found + rest
        at, name = min(places)
        found, rest = found + rest[:at] + values[name], rest[at + len(name) + 2 :]
    return found
