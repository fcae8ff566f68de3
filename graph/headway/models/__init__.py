"""Chat models: opening one by its name, and calling one so that every failure has a kind."""
