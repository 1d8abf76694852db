"""Pool + metric → weights: what a tuner is, the one runner for all of them, and a file for each."""
