"""What a job leaves behind: each file is tried, whatever became of the others.

An answer that cannot be written is an error, told when all the rest is written and shown. What stands beside the
answer (a trace, a picture, a checkpoint) is a warning, and the job goes on without it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from luthier.core.errors import LuthierError, LuthierWarning, describe_os_error
from luthier.core.files.io import display_name


@contextmanager
def secondary(path: str | os.PathLike[str]) -> Iterator[None]:
    """Warn where a file beside the answer cannot be written, and go on."""
    try:
        yield
    except BrokenPipeError:
        raise
    except (OSError, LuthierError) as error:
        warnings.warn(f"{_sentence(error, path)}. The job goes on without it", LuthierWarning, stacklevel=3)


class Written:
    """The files of one job as they are written, in order; `check` raises what went wrong with an answer."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self._error: LuthierError | None = None

    @contextmanager
    def answer(self, path: str | os.PathLike[str]) -> Iterator[None]:
        """Write an answer inside the block; what goes wrong is kept for `check`."""
        try:
            yield
        except BrokenPipeError:
            raise
        except (OSError, LuthierError) as error:
            self._error = self._error or LuthierError(_sentence(error, path))
        else:
            self.paths.append(str(path))

    @contextmanager
    def beside(self, path: str | os.PathLike[str]) -> Iterator[None]:
        """Write what stands beside the answer inside the block."""
        with secondary(path):
            yield
            self.paths.append(str(path))

    def check(self) -> None:
        """Raise `LuthierError` for the first answer that could not be written."""
        if self._error is not None:
            raise self._error


def _sentence(error: OSError | LuthierError, path: str | os.PathLike[str]) -> str:
    """Return what went wrong, with the file's name."""
    said = describe_os_error(error) if isinstance(error, OSError) else str(error)
    name = display_name(path)
    return said if name in said else f"{name}: {said}"
