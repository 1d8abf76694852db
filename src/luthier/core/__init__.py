"""The floor everyone stands on: errors, kernels, plug-ins, randomness, files, parallel work.

Begin with `errors` (how everything that fails says so), `arrays` and `segments` (what data is made of), then `jit`
(how kernels are compiled; `kernel_cache` and `kernel_files` keep them), `plugins` and `params` (how files become
formats, methods and commands), `settings` (TOML and JSON of strangers), `threads` and `tasks` (parallel work),
`progress` (how work speaks). `files/` is what is on disk, `start_up` whose process this is.
"""
