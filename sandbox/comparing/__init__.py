"""Two runs, or two judges, held against each other: pairs, differences, agreement, and what may not be compared."""
