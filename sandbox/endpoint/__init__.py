"""Asking a model over the chat-completions protocol: messages, replies, failures by kind, the clients of a run."""
