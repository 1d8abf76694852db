"""Synthetic lists, outputs and a language pair, to try things on."""
