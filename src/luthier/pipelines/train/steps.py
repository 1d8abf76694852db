"""Steps of a long job that are left out where nothing has changed: inputs, settings and outputs are hashed."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from luthier import __version__
from luthier.core.errors import InputError
from luthier.core.files.io import content_hash, open_output, regular
from luthier.core.files.json_text import parse_json
from luthier.core.files.written import secondary
from luthier.core.progress import notice

FILE = "steps.json"


@dataclasses.dataclass(frozen=True)
class Step:
    """What became of a step: left out, or done in so many seconds."""

    name: str
    skipped: bool
    seconds: float


class Steps:
    """The steps of a job in a folder; what was done is written there as it is done."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.done = folder, list[Step]()
        self._path = folder / FILE
        self._kept = _read(self._path)

    def key(self, inputs: Sequence[str | Path], about: Any) -> str:
        """Return a hash of the contents of files and of settings (`about`): what a step's result depends on."""
        state = hashlib.blake2b(digest_size=16)
        state.update(json.dumps([__version__, about], sort_keys=True, default=repr).encode())
        for path in inputs:
            state.update(content_hash(path).encode())
        return state.hexdigest()

    def run(self, name: str, key: str, outputs: Sequence[str], work: Callable[[], Any]) -> None:
        """Do a step, unless it was done with the same key and its outputs are as it left them.

        `outputs` are names of files in the folder.
        """
        begin = time.perf_counter()
        kept = self._kept.get(name, {})
        skipped = kept.get("key") == key and all(self._same(kept, output) for output in outputs)
        if skipped:
            notice(f"{name}: nothing has changed")
        else:
            notice(f"{name} …")
            work()
            self._kept[name] = {"key": key, "outputs": {name: content_hash(self.folder / name) for name in outputs}}
            with secondary(self._path), open_output(self._path) as file:
                file.write((json.dumps(self._kept, indent=1) + "\n").encode("utf-8"))
        self.done.append(Step(name, skipped, round(time.perf_counter() - begin, 3)))

    def _same(self, kept: dict[str, Any], output: str) -> bool:
        path = self.folder / output
        return path.is_file() and kept.get("outputs", {}).get(output) == content_hash(path)


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """Return what was done; nothing where the file is not what we write, and all is done again."""
    try:
        found = parse_json(regular(path).read_bytes()) if path.exists() else {}
        if isinstance(found, dict) and all(isinstance(found[name]["outputs"], dict) for name in found):
            return found
    except (ValueError, TypeError, KeyError, OSError, InputError):
        pass
    notice(f"{path}: damaged; all steps are done again")
    return {}
