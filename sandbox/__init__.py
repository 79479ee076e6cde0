"""Runs things: model client, agent loop, judging, benchmarks, run folder, statistics, reports, command line."""
