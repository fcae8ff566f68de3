"""How often and after which waits a failed model call is tried again."""

import random

from pydantic import BaseModel, ConfigDict, Field

from headway.models.failure import ModelFailure


class RetryPolicy(BaseModel):
    """Exponential backoff; a server's own Retry-After goes before it, up to a cap."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    attempts: int = Field(default=4, ge=1, description="tries of one call in all")
    timeouts: int = Field(default=2, ge=1, description="tries that may end at the deadline")
    first_wait: float = Field(default=1.0, ge=0, description="seconds before the second try")
    max_wait: float = Field(default=60.0, ge=0, description="seconds that one wait may take")

    def wait(self, failure: ModelFailure, attempt: int, timeouts: int) -> float | None:
        """Seconds to wait after failed try number `attempt` (from 1); None: give up.

        A server that asks for more than `max_wait` is not asked again: the run ends, resumable.
        Where nobody listens on this machine, one more try is enough.
        """
        if failure.refused and attempt > 1:
            return None
        if not failure.retryable or attempt >= self.attempts or timeouts >= self.timeouts:
            return None
        if failure.retry_after is not None:
            return failure.retry_after if failure.retry_after <= self.max_wait else None
        backoff = self.first_wait * 2.0 ** (attempt - 1)
        return float(min(self.max_wait, backoff * random.uniform(0.75, 1.25)))
