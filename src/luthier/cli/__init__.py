"""The command line: a door, with no arithmetic and no formats of its own.

Read `start` and `main` (how a command is found and run), then a file of `commands/`. `fields` makes options of declared
parameters, `output` is what is said and where, `flags` how options are named in messages; the files whose names end
in "options" are options that several commands share.
"""
