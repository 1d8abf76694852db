"""What there is: formats of lists, metrics, tuners."""
