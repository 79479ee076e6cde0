"""Citations of an answer: which page has which number, what was written, what it scores.

Pure: no network, no clock, no files. Imports nothing of ours, and of others only pydantic, so that it is a library too.
"""
