"""What there is: formats of lists, metrics, tuners; one file per command."""
