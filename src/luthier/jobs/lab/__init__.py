"""The runner of the papers' studies: the files of studies/lab, which are beside an editable install.

They are no part of the wheel. This package has no files of its own: its modules are found in that folder, by the place
of this file and never by the working directory, so that other processes of the same install find them too.
"""

from pathlib import Path

FOLDER = (Path(__file__).parent / "../../../../studies/lab").resolve()
__path__ = [str(FOLDER)]


def check_installed() -> None:
    """Raise where the runner's folder is not there, as in a wheel."""
    from luthier.core.errors import LuthierError

    if not (FOLDER / "base.py").is_file():
        raise LuthierError(
            f"expected a clone of the repository, whose studies/lab runs studies, found {Path(__file__).parents[2]} "
            "without it. hint: clone the repository and run 'pip install -e .' in it"
        )
