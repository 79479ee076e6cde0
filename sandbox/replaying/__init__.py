"""Recorded runs played again: sealed, forked, on the recorded web, before another judge; folders verified and rebuilt."""
