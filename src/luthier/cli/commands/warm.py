"""Compile kernels once, so that no later run has to wait.

  luthier warm
  luthier warm lists tuning
  luthier warm --status

All kernels take some minutes of one core and about 1 GB of memory; a group of commands (as 'luthier --help' has them)
takes less. They are kept on disk: where all are there already, this takes seconds. A wheel for one platform brings
them compiled. --status says whether each kernel is packed in the wheel, kept, or to be compiled, and why.
"""

from __future__ import annotations

import argparse

from luthier.cli.output import Output
from luthier.core.errors import LuthierError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier warm`."""
    parser.add_argument(
        "groups",
        nargs="*",
        metavar="GROUP",
        help="lists, features, metrics, tuning, geometry or 'translation models' (default: everything)",
    )
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="processes that compile side by side (default: all cores)"
    )
    parser.add_argument("--status", action="store_true", help="compile nothing; say what is packed, kept, or neither")
    parser.add_argument(
        "--pack", metavar="DIR", help="compile for all processors of this kind, and write the file that a wheel brings"
    )


def run(options: argparse.Namespace, output: Output) -> None:
    """Run kernels on small jobs; say how many, and what it took."""
    from luthier.jobs.warm import pack, warm
    from luthier.report.console import as_text, table

    jobs = options.threads if options.jobs is None else options.jobs
    if jobs < 1:
        raise LuthierError(f"expected at least one job, found {jobs}")
    if options.status:
        _show_status(output)
        return
    if options.pack:
        path = pack(options.pack, jobs)
        about = {"pack": str(path), "bytes": path.stat().st_size}
        output.emit(about, lambda: as_text(f"{about['pack']} ({about['bytes']:,} bytes)"))
        return
    output.note(
        "compiling kernels: some minutes of one core and about 1 GB of memory, unless they are kept already; "
        "'luthier warm GROUP' compiles those of a group of commands"
        if not options.groups
        else f"compiling the kernels of: {', '.join(options.groups)}"
    )
    warmed = warm(options.groups, jobs)
    total, seconds = sum(warmed.counts.values()), warmed.compile_seconds
    output.emit(
        {"kernels": total, "files": warmed.counts, "compile_seconds": seconds},
        lambda: table(
            f"{total} kernels are ready; compiling took {seconds:.1f} CPU s",
            ("file", "kernels"),
            list(warmed.counts.items()),
        ),
    )


def _show_status(output: Output) -> None:
    """Say of every kernel where it is, and of those that are nowhere why."""
    import dataclasses
    from collections import Counter

    from luthier.jobs.warm import kernel_states
    from luthier.report.console import as_text, stack, table

    states, pack = kernel_states()
    missing = [state for state in states if not (state.packed or state.kept)]
    counts = {"packed": sum(s.packed for s in states), "kept": sum(s.kept for s in states), "to compile": len(missing)}
    about = {"pack": pack, "counts": counts, "kernels": [dataclasses.asdict(state) for state in states]}
    told = f"{len(states)} kernels: {', '.join(f'{count} {name}' for name, count in counts.items())}\npack: {pack}"
    reasons = Counter((state.why, state.name.partition(".")[0]) for state in missing)
    rows = [(room, count, why) for (why, room), count in reasons.items()]
    shown = [table("to be compiled", ("room", "kernels", "why"), rows)] if rows else []
    output.emit(about, lambda: stack(as_text(told), *shown))
