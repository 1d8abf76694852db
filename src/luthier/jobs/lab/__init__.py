"""The runner of the papers' studies: the files of `studies/lab/`, which stand beside an editable install.

They are no part of the wheel. This package has no files of its own: its modules are found in that folder, by the place
of this file and never by the working directory, so that other processes of the same install find them too.
"""

from pathlib import Path

__path__ = [str(Path(__file__).parents[4] / "studies" / "lab")]
