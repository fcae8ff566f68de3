"""Lack of progress, seen early: a pure detector over rounds. See docs/no-progress.md."""

from headway.progress.counts import best_count
from headway.progress.detector import detect
from headway.progress.facts import CallFact, Kind, Level, Round, Verdict
from headway.progress.settings import Flat, Preset, ProgressSettings

__all__ = [
    "CallFact",
    "Flat",
    "Kind",
    "Level",
    "Preset",
    "ProgressSettings",
    "Round",
    "Verdict",
    "best_count",
    "detect",
]
