"""Chat models: opening one by its name, and calling one so that every failure has a kind."""

from headway.models.call import acall_model, call_model
from headway.models.failure import FailureKind, ModelFailure, classify
from headway.models.named import open_model
from headway.models.retry import RetryPolicy

__all__ = [
    "FailureKind",
    "ModelFailure",
    "RetryPolicy",
    "acall_model",
    "call_model",
    "classify",
    "open_model",
]
