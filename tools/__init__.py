"""What the model can call: search, fetch, find; and what they stand on: corpus, engines, guard, pace."""
