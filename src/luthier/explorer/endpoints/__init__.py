"""Requests and their responses, a file for each view of the page, from a session to values and arrays.

Read `about` first (what the page begins with), then `selection` (the score, and the sentences that change), `line` and
`unseen` (what holds beyond the lists), and a view.
"""
