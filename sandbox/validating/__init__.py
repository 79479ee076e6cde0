"""Whether a benchmark is sound, before a model is paid for."""
