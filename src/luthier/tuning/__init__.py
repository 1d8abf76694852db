"""From a problem to weights: one file per tuner in `methods`, one runner for all.

Read `base` (what a tuner is) and `run` (who runs it) first. What tuners share stands in folders by idea: `search`
(lines, planes, simplices), `ranking` (pairs and ordered lists), `margin` (steps and averages), `gains` (what
hypotheses are worth); `keeping` keeps the best epoch.
"""
