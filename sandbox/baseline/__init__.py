"""The embedded baseline: an extractive model and a lexical judge behind the chat-completions protocol, in process.

They make the sandbox run with no key and no network. What they score compares with nothing published.
"""
