"""How far an answer can be trusted: `baselines` (what can be had without tuning), `folds`, `resampling`, `ablation`."""
