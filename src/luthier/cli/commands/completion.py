"""Print a script that completes commands and options in your shell.

luthier completion bash > ~/.local/share/bash-completion/completions/luthier
luthier completion zsh > ~/.zsh/completions/_luthier
luthier completion fish > ~/.config/fish/completions/luthier.fish
"""

from __future__ import annotations

import argparse
import importlib

from luthier.cli.output import Output

SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier completion`."""
    parser.add_argument("shell", choices=SHELLS, help="the shell that reads the script")


def run(options: argparse.Namespace, output: Output) -> None:
    """Make the parser of all commands, and print the script of a shell."""
    import shtab

    script = shtab.complete(whole_parser(), shell=options.shell)
    output.emit({"shell": options.shell, "script": script}, lambda: script)


def whole_parser() -> argparse.ArgumentParser:
    """Return one parser with every command, and every group with its own."""
    from luthier.cli.main import COMMANDS, GROUPS, common_options
    from luthier.core.plugins import available

    common = common_options()
    top = argparse.ArgumentParser(prog="luthier", parents=[common])
    commands = top.add_subparsers(dest="command")
    for name, plugin in available(COMMANDS).items():
        _add(commands, name, plugin.module, plugin.help, common)
    for group in GROUPS:
        package = f"{COMMANDS}.{group}"
        about = (importlib.import_module(package).__doc__ or "").strip().partition("\n")[0]
        inside = commands.add_parser(group, help=about).add_subparsers(dest="inside")
        for name, plugin in available(package).items():
            _add(inside, name, plugin.module, plugin.help, common)
    return top


def _add(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    module: str,
    about: str,
    common: argparse.ArgumentParser,
) -> None:
    parser = commands.add_parser(name, help=about, parents=[common])
    importlib.import_module(module).add_arguments(parser)
