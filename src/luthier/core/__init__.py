"""The floor everyone stands on: errors, kernels, plug-ins, randomness, files, parallel work."""
