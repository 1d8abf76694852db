"""Show what Luthier does, on synthetic outputs of a language model.

luthier demo
luthier demo --open          and look at them in the browser
luthier demo --system        train, tune and test a whole translation system instead
"""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from luthier.cli.output import Output

if TYPE_CHECKING:
    from luthier.report.tables.demo import OutputsDemo

WIDTH, INDENT, MORE = 80, "  ", "  "

COLD = 35, 36  # kernels, seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier demo`."""
    parser.add_argument("-o", "--output", default="demo-out", metavar="DIR", help="where to write (demo-out)")
    parser.add_argument("--open", action="store_true", help="open the explorer in the browser at the end")
    parser.add_argument(
        "--system", action="store_true", help="a whole translation system, on a synthetic language pair"
    )


def run(options: argparse.Namespace, output: Output) -> int:
    """Run one of the two demonstrations, and show what it came to."""
    from luthier.core.errors import LuthierError

    if options.open and options.system:
        raise LuthierError("expected --open or --system, found both")
    if options.system:
        return _system(options, output)
    found = _outputs(options, output)
    return _explore(found, options, output) if options.open else 0


def _outputs(options: argparse.Namespace, output: Output) -> OutputsDemo:
    from luthier.jobs.outputs_demo import run_outputs_demo
    from luthier.report.tables.demo import outputs_tables

    found = run_outputs_demo(options.output, seed=options.seed, threads=options.threads)
    commands = commands_of(found)
    shown = {name: command_lines(command) for name, command in commands.items()}
    output.emit({**found.as_dict(), "commands": commands}, lambda: outputs_tables(found, shown))
    return found


def commands_of(found: OutputsDemo) -> dict[str, str]:
    """Return the commands that do each step by themselves, in the folder of the demonstration."""
    from pathlib import Path

    assert found.tuned.folds is not None
    assert found.surface.stability is not None
    lists, weights, picture = (Path(path).name for path in found.files)
    plane, axes = (" ".join(f"--axis {name}" for name in names) for names in (found.plane, found.axes))
    resamples, at = len(found.surface.stability.position), f"{lists} --metric {found.metric}"
    return {
        "tune": f"luthier tune {at} --folds {found.tuned.folds.n_folds} -o {weights}",
        "ablate": f"luthier ablate {at}",
        "rerank": f"luthier rerank {lists} --weights {weights} -o best.txt",
        "surface": f"luthier surface {at} --weights {weights} {plane} --resamples {resamples} --png {picture}",
        "certify": f"luthier certify {at} --weights {weights} {axes} --whole --gap {found.certificate.gap:g}",
        "explore": f"luthier explore {at} --weights {weights}",
        "system": "luthier demo --system",
    }


def command_lines(command: str) -> str:
    """Return a command in lines of a terminal's width, broken before options; it can be pasted as it is.

    >>> print(command_lines("luthier tune outputs.jsonl --metric chrf --folds 5 --seed 1 -o a-name-that-is-long.txt"))
      luthier tune outputs.jsonl --metric chrf --folds 5 --seed 1 \\
        -o a-name-that-is-long.txt
    """
    lines = [""]
    for part in re.split(r" (?=--?[a-z])", command):
        if lines[-1] and len(lines[-1]) + len(part) + 1 > WIDTH - len(INDENT + MORE):
            lines.append(part)
        else:
            lines[-1] = f"{lines[-1]} {part}".strip()
    return f" \\\n{INDENT}{MORE}".join(lines).join([INDENT, ""])


def _explore(found: OutputsDemo, options: argparse.Namespace, output: Output) -> int:
    """Do as the command for the explorer that was printed does."""
    from luthier.cli.commands import explore

    parser = argparse.ArgumentParser()
    explore.add_arguments(parser)
    lists, weights, _ = found.files
    given = [lists, "--metric", found.metric, "--weights", weights]
    explore.run(parser.parse_args(given, namespace=argparse.Namespace(**vars(options))), output)
    return 0


def _system(options: argparse.Namespace, output: Output) -> int:
    import shlex

    from luthier.jobs.demo import run_demo
    from luthier.report.console import as_text, stack
    from luthier.report.tables.training import demo_tables

    output.note(f"seed {options.seed}, {options.threads} threads")
    result = run_demo(options.output, seed=options.seed, threads=options.threads)
    lists, weights = result.to_explore
    command = f"luthier explore {shlex.quote(lists)} --weights {shlex.quote(weights)}"
    ending = f"drag the weights and see what they do:\n  {command}"
    output.emit({**result.as_dict(), "next": command}, lambda: stack(demo_tables(result), as_text(ending)))
    return 0
