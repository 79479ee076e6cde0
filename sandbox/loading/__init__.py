"""Data files as rows: where a file is, its format, which column is what, questions, dialogues, attacks, answers."""
