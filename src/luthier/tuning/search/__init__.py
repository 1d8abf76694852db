"""What the tuners that search the gain itself share.

Read `line_search` first (directions, lines, climbs from many starts). `planes` has steps over
planes and spaces, `simplices` what both simplex methods need, with `gradient` and `focus`.
"""
