"""Studies: a file names data, tuners, metrics and starts; every unit is run once and kept as a line.

Read `study` first (the file, and how units are run), then `data` (where lists come from) and `lines` (what is kept).
"""
