import asyncio
import contextvars
import threading
from pathlib import Path

import pytest

from headway_tools.home import Home
from headway_tools.turns import Turn, Turns


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return Home(tmp_path / "home").turns(tmp_path)


def test_one_has_the_turn_and_the_other_waits_for_it(place: Path) -> None:
    begun, order = threading.Event(), list[str]()

    def second() -> None:
        begun.set()
        with Turns(place, "b").take(30) as turn:
            order.append("b")
            assert turn is not None

    with Turns(place, "a").take(0) as turn:
        assert turn is not None
        other = threading.Thread(target=contextvars.Context().run, args=(second,))
        other.start()
        begun.wait()
        order.append("a")
    other.join()
    assert order == ["a", "b"]


def test_who_waited_in_vain_has_no_turn(place: Path) -> None:
    with Turns(place, "a").take(0):
        assert contextvars.Context().run(lambda: _taken(Turns(place, "b"), 0.1)) is None
    assert _taken(Turns(place, "b"), 0) is not None


def test_a_run_of_the_same_thread_that_stands_still_is_not_waited_for(place: Path) -> None:
    async def asynchronously() -> Turn | None:
        async with Turns(place, "a").atake(3600) as turn:
            return turn

    with Turns(place, "a").take(0):
        assert contextvars.Context().run(lambda: _taken(Turns(place, "a"), 3600)) is not None
        assert contextvars.Context().run(asyncio.run, asynchronously()) is not None
        assert contextvars.Context().run(lambda: _taken(Turns(place, "b"), 0.1)) is None


def _taken(turns: Turns, seconds: float) -> Turn | None:
    with turns.take(seconds) as turn:
        return turn


def test_a_call_within_a_call_needs_no_second_turn(place: Path) -> None:
    with Turns(place, "a").take(0), Turns(place, "b").take(0) as turn:
        assert turn is not None


def test_a_cancelled_task_stops_waiting_and_never_gets_the_turn(place: Path) -> None:
    async def wait() -> None:
        async with Turns(place, "b").atake(60):
            raise AssertionError

    async def both() -> None:
        async with Turns(place, "a").atake(0) as turn:
            assert turn is not None
            waiting = asyncio.create_task(wait(), context=contextvars.Context())
            await asyncio.sleep(0.1)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        async with Turns(place, "c").atake(0) as turn:
            assert turn is not None

    asyncio.run(both())


def test_a_thread_sees_whether_another_one_changed_files_since(place: Path) -> None:
    first, second = Turns(place, "a"), Turns(place, "b")
    assert first.look().undisturbed
    _signed(first)
    _taken(second, 0)
    assert first.look().undisturbed
    assert not second.look().undisturbed
    _signed(second)
    with first.take(0) as turn:
        assert turn is not None
        assert not turn.undisturbed
    assert not first.look().undisturbed
    _signed(first)
    assert first.look().undisturbed


def _signed(turns: Turns) -> None:
    with turns.take(0) as turn:
        assert turn is not None
        turn.sign()


def test_those_at_work_are_named_while_they_are(place: Path) -> None:
    with Turns(place, "a/b").at_work() as none:
        with Turns(place, "c").at_work() as one:
            assert (none, one) == ([], ["a/b"])
        with Turns(place, "d").at_work() as again:
            assert again == ["a/b"]
    with Turns(place, "c").at_work() as left:
        assert left == []


def test_a_folder_has_one_place_by_whatever_path_it_is_named(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert home.turns(tmp_path / "link") == home.turns(tmp_path / "real")
    assert home.turns(tmp_path / "real") != home.turns(tmp_path)
