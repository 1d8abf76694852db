"""From a problem to weights: one file per tuner in `methods`, one runner for all.

Read `base` (what a tuner is) and `run` (who runs it) first. What tuners share stands in folders by idea: `search`
(lines, planes, simplices), `ranking` (pairs and ordered lists), `margin` (steps and averages), `neighbours` (bins
kept in line). `validation` says how far an answer can be trusted, `loops` tunes around a decoder.
"""
