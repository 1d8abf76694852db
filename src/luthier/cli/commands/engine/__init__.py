"""The parts of a translation system: alignment, language model, rules, decoder, bins."""
