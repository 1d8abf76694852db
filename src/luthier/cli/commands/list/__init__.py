"""What there is: formats of lists, metrics, scorers, tuners."""
