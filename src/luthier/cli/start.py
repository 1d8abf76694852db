"""The first step through the door: Ctrl-C ends in order also while the rest is being imported."""

from __future__ import annotations

import gc
import sys

OBJECTS_AT_START = 200_000  # an everyday command imports some 110,000


def main() -> int:
    """Run the command line; return its exit code."""
    _collect_late()
    try:
        from luthier.cli.interrupts import hear, ignore

        hear()
        from luthier.cli.main import main as run

        code = run()
        ignore()
        return code
    except KeyboardInterrupt:
        print("luthier: interrupted; no output was written", file=sys.stderr)  # noqa: T201
        return 130
    finally:
        gc.freeze()  # the process ends: a last look through all that was imported took an eighth of a small command


def _collect_late() -> None:
    """Look for garbage only when more has been made than imports make: that took a tenth of a small command."""
    usual = gc.get_threshold()

    def at_first(phase: str, info: dict[str, int]) -> None:  # noqa: ARG001 - Python's form
        if phase == "start":
            gc.set_threshold(*usual)
            gc.callbacks.remove(at_first)

    gc.callbacks.append(at_first)
    gc.set_threshold(OBJECTS_AT_START, *usual[1:])


if __name__ == "__main__":
    sys.exit(main())
