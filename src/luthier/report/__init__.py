"""Results → tables and figures; the only room that draws.

`tables` has a file for each result that is printed, `figures` one for each that is drawn; `console` and `pictures`
are what they stand on.
"""
