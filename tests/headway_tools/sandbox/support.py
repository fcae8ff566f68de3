"""Shared by the tests of the sandbox."""

from collections.abc import Callable

from headway_tools.sandbox import Sandbox

Open = Callable[..., Sandbox]
"""`opened(kind, **policy)`: a sandbox over the test's workspace."""
