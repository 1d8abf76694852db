"""What the tuners that search the gain itself share.

Read `line_search` with `directions` first, then `climbing` (many searches from many starts) and `penalized_line`.
`planes` has steps over planes and spaces, `simplices` what both simplex methods need; `clear_selection` tells a strict
winner from a tie.
"""
