"""Small jobs that reach the kernels of this room, for `luthier.pipelines.warm`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from luthier.alignment.links import read_links, write_links


def _links() -> None:
    with tempfile.TemporaryDirectory() as name:
        Path(name, "links").write_text("0-0 1-2\n", encoding="utf-8")
        write_links(read_links(Path(name, "links")), Path(name, "again"))


JOBS = (_links,)
