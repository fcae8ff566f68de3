"""Snapshots without the superuser's rights: files and folders their owner may not read or write.

Started as the superuser it gives that up first. Prints one JSON object, read by
`test_snapshots_ordinary_user.py`; its folder is its own, because the caller's is closed to it.
"""

import contextlib
import json
import os
import shutil
import tempfile
from pathlib import Path

import trees_support
from snapshots_support import named
from trees_support import Gardener, describe

from headway_tools.errors import HeadwayError
from headway_tools.snapshots import Snapshots

NOBODY = 65534


def locked_paths(folder: Path) -> dict[str, object]:
    root = folder / "work"
    (root / "closed/below").mkdir(parents=True)
    (root / "closed/file").write_text("file")
    (root / "secret").write_text("secret")
    before = describe(root)
    store = Snapshots(folder / "store")
    snapshot = store.take(root)
    (root / "new").write_text("new")
    (root / "new").chmod(0)
    (root / "secret").chmod(0)
    (root / "closed/extra").write_text("extra")
    (root / "closed").chmod(0)
    locked = store.take(root)
    report = store.restore(snapshot, root)
    (root / "new").unlink()
    restored = describe(root) == before
    again = store.restore(locked, root)
    modes = {name: oct((root / name).stat().st_mode & 0o777) for name in ("closed", "secret")}
    (root / "secret").chmod(0o600)
    text = (root / "secret").read_text()
    (root / "closed").chmod(0o700)
    store.close()
    return {
        "noted": named(store.notes(locked)),
        "left": named(report.notes),
        "restored": restored,
        "again": named(again.notes),
        "modes": modes,
        "text": text,
    }


def closed_folders(folder: Path) -> dict[str, object]:
    """Random trees with folders that their owner may not write."""
    trees_support.MODES[:] = [0o644, 0o755, 0o600, 0o444]
    different = []
    for seed in range(6):
        root = folder / f"work{seed}"
        root.mkdir()
        gardener = Gardener(seed, root)
        store = Snapshots(folder / f"store{seed}")
        states = []
        for _ in range(30):
            with contextlib.suppress(PermissionError):
                gardener.plant(1)
        for _ in range(4):
            states.append((store.take(root), describe(root)))
            for _ in range(8):
                with contextlib.suppress(PermissionError, shutil.Error):
                    gardener.change(1)
        for number, (snapshot, facts) in enumerate(reversed(states)):
            store.restore(snapshot, root)
            store.extract(snapshot, folder / f"branch{seed}-{number}")
            if not facts == describe(root) == describe(folder / f"branch{seed}-{number}"):
                different.append(f"{seed}: {number}")
        store.close()
    return {"different": different}


def read_only_store(folder: Path) -> dict[str, object]:
    root, data = folder / "work", folder / "data"
    root.mkdir()
    data.mkdir(mode=0o500)
    errors = []
    for place in (data, data / "below"):
        try:
            Snapshots(place).take(root)
        except HeadwayError as error:
            errors.append(str(error).replace(str(folder), ""))
    return {"errors": errors}


def main() -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    os.chdir("/")
    report = {}
    for case in (locked_paths, closed_folders, read_only_store):
        folder = Path(tempfile.mkdtemp(prefix="headway-test-"))
        try:
            report[case.__name__] = case(folder)
        finally:
            for path in [folder, *folder.rglob("*")]:
                if path.is_dir() and not path.is_symlink():
                    path.chmod(0o700)
            shutil.rmtree(folder)
    print(json.dumps(report))  # noqa: T201 - the report is this program's output


if __name__ == "__main__":
    main()
