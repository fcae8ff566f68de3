"""The record of others' changes stays small, whatever they do."""

from headway.outside import MOST_GAPS, fewer, newest
from headway.state import Gap


def gaps(count: int) -> list[Gap]:
    return [Gap(left=f"l{n}", found=f"f{n}") for n in range(count)]


def test_a_run_keeps_its_first_gaps_and_tells_the_newest_as_one() -> None:
    many = gaps(MOST_GAPS + 10)
    assert fewer(many[: MOST_GAPS + 3], 3) == many[: MOST_GAPS + 3]
    kept = fewer(many, 3)
    assert kept[:-1] == many[: MOST_GAPS + 2]
    assert kept[-1] == Gap(left=f"l{MOST_GAPS + 2}", found=f"f{MOST_GAPS + 9}")


def test_one_gap_at_a_time_ends_where_all_at_once_do() -> None:
    many, kept = gaps(3 * MOST_GAPS), list[Gap]()
    for gap in many:
        kept = fewer([*kept, gap], 0)
    assert kept == fewer(many, 0)
    assert len(kept) == MOST_GAPS


def test_a_new_run_keeps_the_newest_gaps_and_tells_the_oldest_as_one() -> None:
    assert newest([]) == []
    assert newest(gaps(MOST_GAPS)) == gaps(MOST_GAPS)
    kept = newest(gaps(MOST_GAPS + 5))
    assert len(kept) == MOST_GAPS
    assert kept[0] == Gap(left="l0", found="f5")
    assert kept[1:] == gaps(MOST_GAPS + 5)[6:]
