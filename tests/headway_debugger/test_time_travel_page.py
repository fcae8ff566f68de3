"""`docs/time-travel.md` says what really happens: its code is run, its output compared."""

import contextlib
import io
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "time-travel.md"


def test_every_block_of_the_page_prints_what_the_page_shows() -> None:
    blocks = re.findall(r"```(python|text)\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    printed = ""
    for kind, body in blocks:
        if kind == "text":
            assert printed == body
            printed = ""
            continue
        assert printed == ""
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(body, str(PAGE), "exec"), names)
        printed = out.getvalue()
    assert printed == ""
