"""Values of derivations, a file each: `best`, `count`, `k_best`, `envelope`, `expectation`; `base` says what one is."""
