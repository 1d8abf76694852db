"""Requests and their responses, a file for each view of the page.

Read `session` first (what is open: lists, metric, named weights), then `request` (JSON of a stranger, checked),
`responses` (how numbers travel) and a view. `tail` reads files of states that grow.
"""
