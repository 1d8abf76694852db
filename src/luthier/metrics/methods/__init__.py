"""Metrics, one file each: a file's name is the metric's name, and its class is `Method`."""
