"""The citation debugger over runs and files: findings, losses, verdicts on recovered readings."""
