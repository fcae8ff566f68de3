"""Fast paths: the rows of the savers that LangGraph ships."""

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from headway_debugger.rows import RowStore
from headway_debugger.savers.memory import MemoryRows
from headway_debugger.savers.sqlite import SqliteRows


def rows_of(saver: object) -> RowStore | None:
    """The rows of `saver`; None where it is of another kind."""
    if isinstance(saver, InMemorySaver):
        return MemoryRows(saver)
    if isinstance(saver, SqliteSaver):
        return SqliteRows(saver)
    modules = {kind.__module__ for kind in type(saver).__mro__}
    if "langgraph.checkpoint.postgres" in modules:  # an extra: not imported here
        from headway_debugger.savers.postgres import rows_of_postgres

        return rows_of_postgres(saver)
    return None
