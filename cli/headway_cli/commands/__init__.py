"""One module per command, each with `run(args) -> int`, imported when it is called."""
