"""Figures from records: what each outcome counts, what a benchmark measures, sums, intervals, tests."""
