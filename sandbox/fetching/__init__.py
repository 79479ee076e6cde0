"""Fetching the documents that a data set names: which links, what came of each, the corpus made of them."""
