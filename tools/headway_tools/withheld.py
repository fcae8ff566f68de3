"""What no agent sees, also where it lies in the workspace: headway's data, the user's keys."""

from pathlib import Path
from typing import Final

_KEYS: Final = (
    ".ssh .aws .azure .gnupg .kube .docker .config .local/share/keyrings .password-store .mozilla "
    ".netrc .git-credentials .npmrc .pypirc .cargo/credentials.toml .bash_history .zsh_history"
)


def keys_of_user() -> tuple[Path, ...]:
    """Well-known files and folders of keys in the user's home, whether they exist or not."""
    return tuple(Path.home() / name for name in _KEYS.split())


def place_in(workspace: Path, folder: Path) -> str | None:
    """Where `folder` lies in `workspace`, from its top ("." for itself); None if elsewhere."""
    top, real = workspace.resolve(), folder.expanduser().resolve()
    return real.relative_to(top).as_posix() if real.is_relative_to(top) else None
