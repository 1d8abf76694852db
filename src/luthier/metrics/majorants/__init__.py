"""Upper limits of scores that are linear in the sums of statistics: what a proof over boxes of weights rests on.

Read `majorant` first (what a limit is, and how it is rounded), then `bleu` and `chrf`.
"""
