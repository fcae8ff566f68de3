"""Where commands run: isolated by bubblewrap, or, explicitly, not at all."""

from headway_tools.sandbox.capabilities import Capability, capabilities
from headway_tools.sandbox.locate import Bubblewrap
from headway_tools.sandbox.opening import (
    Probe,
    open_sandbox,
    probe,
    require_isolation,
    visible_folders,
)
from headway_tools.sandbox.policy import (
    DEFAULT_HIDE,
    Cancel,
    CommandResult,
    Sandbox,
    SandboxKind,
    SandboxLimits,
    SandboxPolicy,
)
from headway_tools.sandbox.protected import ProtectedFiles
from headway_tools.sandbox.threads import run_in_thread

__all__ = [
    "DEFAULT_HIDE",
    "Bubblewrap",
    "Cancel",
    "Capability",
    "CommandResult",
    "Probe",
    "ProtectedFiles",
    "Sandbox",
    "SandboxKind",
    "SandboxLimits",
    "SandboxPolicy",
    "capabilities",
    "open_sandbox",
    "probe",
    "require_isolation",
    "run_in_thread",
    "visible_folders",
]
