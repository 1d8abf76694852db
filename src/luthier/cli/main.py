"""The `luthier` command: finds the subcommand's file, reads the common options, reports errors."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import io
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TextIO

from luthier import __version__
from luthier.cli.output import as_json, naming_output
from luthier.cli.parser import HelpFormatter, Parser, UsageError, meant, spoken
from luthier.core.errors import LuthierError, describe_os_error
from luthier.core.params import DEFAULT_SEED
from luthier.core.plugins import Plugin, available
from luthier.core.start_up import as_command, expect_compiling

COMMANDS = "luthier.cli.commands"
COMMON_OPTIONS = "--threads, --seed, --quiet, --verbose and --json"
# What everybody needs, in the order in which one needs it; all else is in a group, a folder of files.
FIRST = (
    "demo",
    "pool",
    "inspect",
    "add",
    "score-with",
    "export",
    "tune",
    "ablate",
    "rerank",
    "pairs",
    "mbr",
    "score",
    "compare",
    "oracle",
    "line",
    "surface",
    "tradeoff",
    "certify",
    "explore",
    "report",
    "train",
    "translate",
    "serve",
    "loop",
)
GROUPS = ("data", "geometry", "engine", "synthetic", "list")
OTHER_NAMES = {"minkowski": "geometry cones", "choose": "engine sweep", "generate": "synthetic lists"}
INTERRUPTED, BROKEN_PIPE = 130, 141


def common_options() -> argparse.ArgumentParser:
    """Return the options that mean the same for every command, before it or behind it."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    group = parser.add_argument_group("options of every command")
    group.add_argument("--threads", type=_positive, metavar="N", help="cores to use, BLAS too (default: all)")
    group.add_argument(
        "--seed",
        type=_natural,
        default=DEFAULT_SEED,
        metavar="N",
        help="start of all randomness (default: %(default)s)",
    )
    group.add_argument("--quiet", action="store_true", help="results, warnings and errors only")
    group.add_argument("--verbose", action="store_true", help="all tables, with signatures, settings and legends")
    group.add_argument("--json", action="store_true", help="results, and errors, as JSON on standard output")
    return parser


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 on, found {text!r}")
    return int(text)


def _natural(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 on, found {text!r}")
    return int(text)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _open_closed_streams()
    try:
        with as_command():
            return _flushed(arguments)
    except LuthierError as error:
        _complain(error.told if isinstance(error, UsageError) else f"luthier: error: {error}")
        _answer_error(error, arguments)
        return error.exit_code
    except KeyboardInterrupt:
        _complain("luthier: interrupted; no output was written")
        return INTERRUPTED
    except BrokenPipeError:  # whoever read our output has gone
        _give_up_output()
        return BROKEN_PIPE
    except OSError as error:
        _complain(f"luthier: error: {describe_os_error(error)}")
        if not _can_flush():
            _give_up_output()
        else:
            _answer_error(LuthierError(describe_os_error(error)), arguments)
        return LuthierError.exit_code
    except MemoryError:
        _complain("luthier: error: not enough memory for this job")
        return LuthierError.exit_code
    finally:
        _settle_errors()


def _answer_error(error: LuthierError, arguments: Sequence[str]) -> None:
    """Print an error as JSON too, where results are: a program need not read sentences."""
    if "--json" in arguments:
        parts = {name: getattr(error, name, None) for name in ("expected", "found", "path", "line", "kind")}
        about = {"message": spoken(str(error)), **{name: value for name, value in parts.items() if value is not None}}
        with contextlib.suppress(OSError):
            print(as_json({"error": {**about, "exit_code": error.exit_code}}))  # noqa: T201
            sys.stdout.flush()


def _open_closed_streams() -> None:
    """Lead a standard stream that was closed (``>&-``) nowhere, before a file of ours gets its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open to the end


def _can_flush() -> bool:
    try:
        sys.stdout.flush()
    except OSError:
        return False
    return True


def _give_up_output(stream: TextIO | None = None) -> None:
    """Keep Python from complaining, at its end, about output that nobody can take."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), (stream or sys.stdout).fileno())


def _settle_errors() -> None:
    """Let go of what was said in vain, to a full disk: Python would end with an exit code of its own for it."""
    try:
        sys.stderr.flush()
    except OSError:
        with contextlib.suppress(OSError):
            _give_up_output(sys.stderr)


def _flushed(arguments: list[str]) -> int:
    """Run; see to it that all output is out, or its failure known, before the exit code is."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # file names can be any bytes
    try:
        return _run(arguments)
    finally:
        with naming_output():
            sys.stdout.flush()


def _run(arguments: list[str]) -> int:
    common = common_options()
    options, rest = common.parse_known_args(arguments)
    if rest[:1] == ["help"]:  # 'luthier help tune' is 'luthier tune --help'
        rest = [*rest[1:], "--help"]
    if not rest or rest[0] in ("-h", "--help"):
        _top_parser(available(COMMANDS)).print_help()
        return 0 if rest else LuthierError.exit_code
    if rest[0] == "--version":
        print(f"luthier {__version__}")  # noqa: T201
        return 0
    group = rest[0] if rest[0] in GROUPS else ""
    name, arguments = (" ".join(rest[:2]), rest[2:]) if group else (rest[0], rest[1:])
    if group and (len(rest) == 1 or rest[1] in ("-h", "--help")):
        _group_parser(common, group).print_help()
        return 0 if len(rest) > 1 else LuthierError.exit_code
    from luthier.core.threads import available_threads, hold_blas

    options.threads = options.threads or available_threads()
    hold_blas(options.threads)  # before BLAS is loaded
    module = importlib.import_module(_module_of(name, common))
    parser = command_parser(name, module, common)
    if hasattr(module, "extend_arguments"):  # options that depend on other options
        module.extend_arguments(parser, arguments)
    return _execute(module, parser.parse_args(arguments, namespace=options))


def command_parser(name: str, module: Any, common: argparse.ArgumentParser) -> Parser:
    """Return the parser of a command; where its file has `FIRST_OPTIONS`, help has these, and all with --help-all."""
    parser = Parser(
        prog=f"luthier {name}",
        description=module.__doc__,
        parents=[common],
        allow_abbrev=False,
        formatter_class=HelpFormatter,
        first=getattr(module, "FIRST_OPTIONS", ()),
    )
    module.add_arguments(parser)
    return parser


def _module_of(name: str, common: argparse.ArgumentParser) -> str:  # noqa: RET503 - a parser's error ends the program
    """Return the module of a command: our own at once, since looking through all of them takes a tenth of a second."""
    group, _, last = name.rpartition(" ")
    package = f"{COMMANDS}.{group}" if group else COMMANDS
    own = f"{package}.{last.replace('-', '_')}"
    if re.fullmatch(r"[a-z]+(-[a-z]+)*", last) and last not in GROUPS and importlib.util.find_spec(own) is not None:
        return own
    commands = available(package)
    if last in commands:
        return commands[last].module
    if group:
        _group_parser(common, group).error(f"there is no command {name!r}{meant(last, commands)}")
    elsewhere = OTHER_NAMES.get(name) or next(
        (f"{g} {name}" for g in GROUPS if name in available(f"{COMMANDS}.{g}")), ""
    )
    said = f"; it is 'luthier {elsewhere}'" if elsewhere else meant(name, [*commands, *GROUPS])
    _top_parser(commands).error(f"there is no command {name!r}{said}")


def _execute(module: Any, options: argparse.Namespace) -> int:
    from luthier.cli.output import Output

    name = module.__name__.removeprefix(f"{COMMANDS}.").replace(".", " ").replace("_", "-")
    expect_compiling(*getattr(module, "COLD", (0, 0)))  # of a first run on 300 lists of 16, on two cores
    with Output(quiet=options.quiet, as_json=options.json, verbose=options.verbose, command=name) as output:
        code: int | None = module.run(options, output)
        _tell_compiled(output.note)
    return code or 0


def _tell_compiled(say: Callable[[str], None]) -> None:
    """Say what compiling took, where there was any: later runs are so much faster."""
    jit = sys.modules.get("luthier.core.jit")
    count, kept = jit.compiled_kernels() if jit else (0, True)
    if jit and count and kept:
        say(f"compiled {count} kernels in {jit.compiler_seconds()[1]:.0f} s, once: later runs find them")


def _top_parser(commands: Mapping[str, Plugin]) -> argparse.ArgumentParser:
    rest = [plugin for name, plugin in commands.items() if name not in FIRST]
    groups = [
        Plugin(group, "", (importlib.import_module(f"{COMMANDS}.{group}").__doc__ or "").strip()) for group in GROUPS
    ]
    parts = {"commands": [commands[name] for name in FIRST], "groups of commands": groups}
    listing = "\n".join(f"{head}:\n{_entries(plugins)}" for head, plugins in parts.items())
    listing += f"\nand: {', '.join(plugin.name for plugin in rest)}\nEvery command takes {COMMON_OPTIONS}."
    return Parser(
        prog="luthier",
        usage="luthier COMMAND [options]",
        description="Find the weights of a linear model of scorers that are best for the metric you report.",
        epilog=f"{listing}\n'luthier COMMAND --help' explains a command, 'luthier GROUP' lists a group.",
        add_help=False,
        formatter_class=HelpFormatter,
    )


def _group_parser(common: argparse.ArgumentParser, group: str) -> argparse.ArgumentParser:
    package = f"{COMMANDS}.{group}"
    return Parser(
        prog=f"luthier {group}",
        usage=f"luthier {group} COMMAND [options]",
        description=importlib.import_module(package).__doc__,
        epilog=f"commands:\n{_entries(available(package).values())}\n'luthier {group} COMMAND --help' explains one.",
        parents=[common],
        formatter_class=HelpFormatter,
    )


def _entries(plugins: Iterable[Plugin]) -> str:
    """Return a line for each command, cut to the width of a terminal."""
    return "\n".join(f"  {plugin.name:<11} {textwrap.shorten(plugin.help, 66, placeholder=' …')}" for plugin in plugins)


def _complain(message: str) -> None:
    with contextlib.suppress(OSError):  # where even that cannot be written, the exit code says it
        print(spoken(message), file=sys.stderr)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
