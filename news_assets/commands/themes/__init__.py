"""The commands `train-themes` and `label`."""
