"""Studies: a file names data, tuners, metrics and starts or conditions; every unit is run once and kept as a line.

Read `study` first (the runner) with `units` (what it asks of a study) and `lines` (what is kept). One kind of study is
`starts` (tuners from many starts, on `data`, as `start_settings` reads them), another `capacity` (tuners, the oracle's
reach and numbers of selections against features and sentences, with `capacity_settings`, `capacity_lists` and
`capacity_results`). The others run whole loops on a trained `system`: `tuner_loops` (tuners for several metrics, as
`tuner_loop_settings` reads them, shown by `tuner_loop_results`) and `conditions` (features, bins and tuners) with
`choices`, `loops` and `loop_results`.
"""
