"""One unit in this process, and no other: to see what is wrong with it where it can be seen."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Iterator
from typing import Any

from luthier.core.errors import LuthierError
from luthier.core.progress import notice
from luthier.core.tasks import Given, Units, Work, path_of
from luthier.distributed.worker import unit_key


@dataclasses.dataclass(frozen=True)
class Alone:
    """Runs the unit of this key; then the job ends as if it had been interrupted."""

    key: str

    def results(self, work: Work, given: Given, units: Units, stop: threading.Event) -> Iterator[tuple[int, Any]]:
        """Yield the one result, and set `stop`."""
        path = path_of(work)
        for number, unit in units.items():
            if unit_key(path, unit) == self.key:
                began = time.perf_counter()
                yield number, work(given.value, unit)
                notice(f"unit {number} ended well after {time.perf_counter() - began:.1f} s, alone in this process")
                stop.set()
                return
        raise LuthierError(f"none of these {len(units)} units is {self.key}: it is done, or of another command")
