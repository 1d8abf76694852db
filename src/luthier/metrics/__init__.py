"""Hypotheses and references become statistics, and sums of statistics become scores."""
