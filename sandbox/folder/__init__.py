"""The run folder: what is kept of a run, how it is written and read."""
