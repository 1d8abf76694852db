"""The command line: a door, with no arithmetic and no formats of its own."""
