"""What hypotheses are worth to the metric: singly, as sums, and in expectation."""
