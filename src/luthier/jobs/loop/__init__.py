"""The tuning loop as a job: a file says which decoder, sentences, tuner and stop rules.

Read `config` (what the file says), `outside` (decoders of others) and `job` (the run and what it leaves).
"""
