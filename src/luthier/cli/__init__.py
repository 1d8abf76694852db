"""The command line: a door, with no arithmetic and no formats of its own.

Read `start` and `main` (how a command is found and run), then a file of `commands/`. `options/` has what several
commands share, `output` is what is said and where, `parser` names the option that was meant.
"""
