"""Results → tables and figures; the only room that draws.

`tables` has a file for each kind of result that is printed, `figures` one for each that is drawn; `console` and
`figure_style` are what they stand on.
"""
