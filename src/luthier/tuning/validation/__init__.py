"""How far an answer can be trusted.

`baselines` is what can be had without tuning, `folds`, `resampling` and `ablation` what becomes of the answer on other
sentences and with other scorers, `report` what a tuning job leaves.
"""
