"""One mutant: the commands that must bear it, and what their answer must be."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

SLOW = 10.0  # seconds of processor time that no mutant may take


@dataclasses.dataclass
class Run:
    """Commands over damaged files, or calls, in order; the next runs only if the one before ended with 0.

    Where the sound file's answer is known, `answer` names the file that holds it: after a run that ended well, another
    answer than `expected` is a silent difference, unless `verify` refuses the file.
    """

    commands: list
    answer: Path | None = None
    expected: bytes | None = None
    verify: list | None = None


class Kept:
    """The files of a folder as they were, to be put back and damaged one at a time."""

    def __init__(self, folder):
        self.folder = Path(folder)
        paths = sorted(path for path in self.folder.rglob("*") if path.is_file() and path.suffix != ".png")
        self.files = {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in paths}

    def put_back(self, rng, *, names=None):
        """Make the folder what it was; return the path of a file in it, drawn by chance, and its content."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for name, raw in self.files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(raw)
        drawn = names or list(self.files)
        name = drawn[rng.integers(len(drawn))]
        return self.folder / name, self.files[name]
