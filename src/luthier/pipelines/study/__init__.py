"""Studies: a file names data, tuners, metrics and starts; every unit is run once and kept as a line."""
