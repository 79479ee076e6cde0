"""What passes between us and the outside: transports and redaction."""
