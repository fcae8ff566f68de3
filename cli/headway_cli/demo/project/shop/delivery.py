"""What it costs to deliver an order. Amounts are whole cents."""

import json
from pathlib import Path

DEFAULTS = {"free_from": 5000, "price": 300}


def load_settings() -> dict[str, int]:
    """The shop's settings; what they leave out has a default."""
    path = Path("settings.json")
    if not path.exists():
        return DEFAULTS
    settings: dict[str, int] = json.loads(path.read_text(encoding="utf-8"))
    return DEFAULTS | settings


def delivery_cost(order_total: int) -> int:
    """Nothing from the amount `free_from`, else `price`."""
    settings = load_settings()
    return 0 if order_total >= settings["free_from"] else settings["price"]
