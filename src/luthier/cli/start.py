"""The first step through the door: Ctrl-C ends in order also while the rest is being imported."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line; return its exit code."""
    try:
        from luthier.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        print("luthier: interrupted; no output was written", file=sys.stderr)  # noqa: T201
        return 130


if __name__ == "__main__":
    sys.exit(main())
