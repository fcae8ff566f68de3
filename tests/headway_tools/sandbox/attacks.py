"""All attacks, in the order of their numbers."""

from sandbox.harms import KERNEL, LIMITS, PROTECTED, SURVIVORS, VICTIMS, WRITES
from sandbox.leaks import ENVIRONMENT, FILES, SERVICES

ATTACKS = (
    *(*ENVIRONMENT, *FILES, *SERVICES, *WRITES, *KERNEL, *LIMITS),
    *(*VICTIMS, *PROTECTED, *SURVIVORS),
)
