"""The parts of a translation system, from alignment to decoder."""
