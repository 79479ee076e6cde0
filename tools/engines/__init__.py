"""Search engines behind one protocol (`tools.search.SearchEngine`)."""
