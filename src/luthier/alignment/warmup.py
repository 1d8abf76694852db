"""Small jobs that reach the kernels of this room, for `luthier.jobs.warm`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from luthier.alignment.aligner import align, apply_model
from luthier.alignment.base import PACKAGE
from luthier.alignment.links import read_links, write_links
from luthier.alignment.model import open_model, save_model
from luthier.core.plugins import available

TEXT = (["a b c", "b c", "c a"], ["x y z", "y z", "z x"])


def _align() -> None:
    for name in available(PACKAGE):
        options: dict[str, Any] = {"optimize_tension": True} if name == "diagonal" else {}
        done = align(*TEXT, name, passes=3, **options)
    with tempfile.TemporaryDirectory() as folder:
        save_model(done.model, Path(folder, "model"))
        apply_model(open_model(Path(folder, "model")), *TEXT)
        write_links(done.symmetrized(), Path(folder, "links"))
        read_links(Path(folder, "links"))


JOBS = (_align,)
