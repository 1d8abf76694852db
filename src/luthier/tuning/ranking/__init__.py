"""What the tuners that learn to rank share: pairs, ordered lists, losses, penalties and their fit.

Read `rounds` first (rounds of gains, a loss, penalties, a fit), then `pairs` and `ordered` (the losses). `expectation`
is a smooth metric, which simplices may follow, too.
"""
