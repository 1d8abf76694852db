"""Lists → pool → lists: what all other rooms work on.

Read `pool` first (N sentences, M hypotheses, in columns), then `features`, `weights` and `rerank`; `merge` puts pools
together and cuts them, `derived` makes features of others, `inspect` says what is in a pool, `storage` is its file.
`reading/` with `readers/` and `building/` make a pool of lists, `writers/` write it, `shards/` cut it into files.
`serving/` ranks candidates without a pool, `fusion` writes weights as parameters of other decoders.
"""
