"""The benchmarks: each a short module that says how to load, what is played, what counts. None has an engine of its own."""
