"""What a person sees of a run: tables, progress, one session in full."""
