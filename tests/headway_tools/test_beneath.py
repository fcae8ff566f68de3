"""Walking beneath a handle: what leads out is refused, whatever is swapped meanwhile."""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from files_support import edit_result, workspace_at

from headway_tools.beneath import OutsideRootError, resolve
from headway_tools.errors import ToolFailure
from headway_tools.files import open_regular, read_whole

TRIES = [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """`tmp_path/root` with `dir/file`, beside it `outside/file`."""
    for folder, text in (("root/dir", "inside"), ("outside", "SECRET")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "file").write_text(text)
    return tmp_path / "root"


def found(root: Path, path: str, *aliases: str) -> str:
    """The path that `path` resolves to."""
    handle = os.open(root, os.O_PATH)
    try:
        with resolve(handle, path, aliases=aliases) as place:
            return place.path
    finally:
        os.close(handle)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("dir/file", "dir/file"),
        ("./dir//file", "dir/file"),
        ("dir/../dir/./file", "dir/file"),
        ("dir/sub/../../dir/file", "dir/file"),
        ("dir/new", "dir/new"),
        ("dir/", "dir"),
        (".", "."),
        ("", "."),
        ("dir/..", "."),
        ("to_dir/file", "dir/file"),
        ("to_file", "dir/file"),
        ("dir/up/dir/file", "dir/file"),
        ("chain1", "dir/file"),
        ("dangling", "dir/missing"),
        ("absolute_inside/file", "dir/file"),
        ("to_dir/../dir/file", "dir/file"),
    ],
)
def test_a_path_inside_is_found_under_its_real_name(root: Path, path: str, expected: str) -> None:
    (root / "dir/sub").mkdir()
    make_links(
        root,
        {
            "to_dir": "dir",
            "to_file": "dir/file",
            "dir/up": "..",
            "chain1": "chain2",
            "chain2": "./to_dir/file",
            "dangling": "dir/missing",
            "absolute_inside": str(root / "dir"),
        },
    )
    assert found(root, path, str(root)) == expected


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../outside/file",
        "dir/../../outside/file",
        "absolute/file",
        "relative/file",
        "absolute_file",
        "chain/file",
        "proc/self/root/etc/passwd",
        "magic",
        "magic_fd",
        "beside",
        "dir/deep/file",
        "dangling_out",
        "slash",
    ],
)
def test_a_path_that_leads_out_is_refused(root: Path, path: str) -> None:
    outside = root.parent / "outside"
    make_links(
        root,
        {
            "absolute": str(outside),
            "relative": "../outside",
            "absolute_file": str(outside / "file"),
            "chain": "relative",
            "proc": "/proc",
            "magic": "/proc/self/cwd",
            "magic_fd": "/proc/self/fd/0",
            "beside": f"{root}-beside",
            "dir/deep": "../../outside",
            "dangling_out": "../nothing-there",
            "slash": "/",
        },
    )
    with pytest.raises(OutsideRootError):
        found(root, path, str(root))


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("dir/file/", NotADirectoryError),
        ("dir/file/..", NotADirectoryError),
        ("dir/file/x", NotADirectoryError),
        ("no/such", FileNotFoundError),
        ("loop", OSError),
        ("loop/x", OSError),
        ("n" * 300, OSError),
    ],
)
def test_what_the_kernel_refuses_is_refused(root: Path, path: str, error: type[OSError]) -> None:
    make_links(root, {"loop": "loop"})
    with pytest.raises(error):
        found(root, path)


def test_no_handle_stays_open(root: Path) -> None:
    before = open_handles()
    for path in ("dir/file", "../x", "no/such", "dir/../dir/", "dir/file/x"):
        with suppress(OSError, OutsideRootError):
            found(root, path)
    assert open_handles() == before


def test_a_very_deep_path_needs_few_handles(root: Path) -> None:
    deep = "/".join(["d"] * 1100)
    handle = os.open(root, os.O_PATH)
    try:
        with resolve(handle, deep + "/f", make_parents=lambda _: None) as place:
            assert place.path == deep + "/f"
        with resolve(handle, deep + "/../../f") as place:
            assert place.path.count("/") == 1098
        with pytest.raises(OSError, match="too long"), resolve(handle, deep + "/.." * 100 + "/f"):
            pass
    finally:
        os.close(handle)
        subprocess.run(["rm", "-rf", str(root / "d")], check=True)


def test_a_refused_parent_is_not_made(root: Path) -> None:
    def refuse(path: str) -> None:
        if path == "dir/new/tests":
            raise ToolFailure("protected", path, "leave it")

    handle = os.open(root, os.O_PATH)
    try:
        with (
            pytest.raises(ToolFailure),
            resolve(handle, "dir/new/tests/x/f", make_parents=refuse),
        ):
            pass
    finally:
        os.close(handle)
    assert (root / "dir/new").is_dir()
    assert not (root / "dir/new/tests").exists()


@pytest.mark.parametrize("tries", TRIES)
@pytest.mark.parametrize("swapped", ["folder", "file"])
def test_reading_through_a_swapped_name_never_leaves(root: Path, swapped: str, tries: int) -> None:
    one = "dir" if swapped == "folder" else "dir/file"
    handle = os.open(root, os.O_PATH)

    def read() -> str:
        with resolve(handle, "dir/file") as place, open_regular(place, os.O_RDONLY) as file:
            return read_whole(file).decode()

    texts, swaps = under_swapping(root, one, read, tries)
    os.close(handle)
    assert texts == {"inside"}
    assert swaps > 100


def test_the_same_race_is_won_against_a_check_by_realpath(root: Path) -> None:
    """The control: the swapping is fast enough to escape where a string is checked."""

    def read() -> str:
        path = root / "dir/file"
        if not path.resolve().is_relative_to(root):
            raise OSError
        return path.read_text()

    for _ in range(20):
        texts, _ = under_swapping(root, "dir", read, 2_000)
        if "SECRET" in texts:
            return
    pytest.fail("no escape in 40,000 tries: the race is not run")


@pytest.mark.parametrize("tries", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_writing_through_a_swapped_folder_never_leaves(root: Path, tries: int) -> None:
    outside = root.parent / "outside"
    workspace = workspace_at(root)
    count = 0

    def write() -> str:
        nonlocal count
        count += 1
        edit_result(workspace, f"dir/new{count % 50}/f", "", "x")
        edit_result(workspace, "dir/file", "inside", "INSIDE")
        edit_result(workspace, "dir/file", "INSIDE", "inside")
        edit_result(workspace, "dir/file", "SECRET", "leaked")
        return ""

    under_swapping(root, "dir", write, tries)
    assert [path.name for path in outside.iterdir()] == ["file"]
    assert (outside / "file").read_text() == "SECRET"


def under_swapping(
    root: Path, name: str, attempt: Callable[[], str], tries: int
) -> tuple[set[str], int]:
    """What `attempt` returns while `name` and a link to outside change places; swaps done."""
    outside = root.parent / "outside"
    target = outside / "file" if (root / name).is_file() else outside
    (root / "swap").unlink(missing_ok=True)
    (root / "swap").symlink_to(target)
    texts = set()
    program = Path(__file__).with_name("swapper.py")
    with subprocess.Popen(
        [sys.executable, "-I", str(program), str(root), name, "swap"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as swapper:
        assert swapper.stdout is not None
        assert swapper.stdin is not None
        assert swapper.stdout.readline() == "ready\n"
        for _ in range(tries):
            with suppress(OSError, ToolFailure, OutsideRootError):
                texts.add(attempt())
        swapper.stdin.close()
        swaps = int(swapper.stdout.read())
    if (root / name).is_symlink():
        (root / name).rename(root / "link")
        (root / "swap").rename(root / name)
    return texts, swaps


def open_handles() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def make_links(root: Path, links: dict[str, str]) -> None:
    for name, target in links.items():
        (root / name).symlink_to(target)
