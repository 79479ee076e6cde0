"""Asking a judge: prompts, verdicts, the units of an answer, consistency."""
