"""Statistics of systems → means, spreads, intervals and p-values, replicas taken into account.

Read `systems` (what is compared) and `comparison` (the whole), then the tests it is made of: `bootstrap` and
`randomisation` over sentences. `ranking` finds the sentences on which two systems differ most.
"""
