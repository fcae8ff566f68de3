"""What to type for a part of headway that is not installed."""


def how_to_install(extra: str, package: str = "") -> str:
    """The command for an extra, with a further package where one is named."""
    tool = f"uv tool install '.[{extra}]'" + (f" --with {package}" if package else "")
    pip = f"pip install '.[{extra}]'" + (f" {package}" if package else "")
    return f"in headway's clone `{tool}`, or `{pip}` for use from Python"
