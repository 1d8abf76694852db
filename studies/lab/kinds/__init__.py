"""Kinds of studies, a file for each: its name is what ``kind = "…"`` in a study's file says."""
