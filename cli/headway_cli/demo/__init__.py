"""The demo: a failing shop project, and a deterministic policy in the place of a model."""
