"""The filter of system calls, run by a small interpreter for both machines."""

import errno
import struct

import pytest

from headway_tools.sandbox.seccomp import ROOTS_MODES, USERS_MODES, seccomp_filter

ALLOW, ERRNO = 0x7FFF0000, 0x00050000
ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
CREATE, WRITE = 0o100, 1
NUMBERS = {
    "x86_64": {"fchmod": 91, "openat": 257, "openat2": 437, "keyctl": 250, "socket": 41,
               "ioctl": 16, "read": 0, "io_uring_setup": 425, "clone": 56, "execve": 59},
    "aarch64": {"fchmod": 52, "openat": 56, "openat2": 437, "keyctl": 219, "socket": 198,
                "ioctl": 29, "read": 63, "io_uring_setup": 425, "clone": 220, "execve": 221},
}  # fmt: skip


def verdict(program: bytes, arch: int, number: int, *arguments: int) -> int | None:
    """The error that the filter gives, None where it allows."""
    padded = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    data = struct.pack("=IIQ6Q", number, arch, 0, *padded)
    steps, at, value = list(struct.iter_unpack("=HBBI", program)), 0, 0
    while True:
        code, if_true, if_false, operand = steps[at]
        at += 1
        if code == 0x20:
            (value,) = struct.unpack_from("=I", data, operand)
        elif code == 0x06:
            return None if operand == ALLOW else operand - ERRNO
        else:
            holds = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}
            at += if_true if holds[code] else if_false


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize(
    ("call", "arguments", "error"),
    [
        ("read", (0,), None),
        ("clone", (0,), None),
        ("execve", (0,), None),
        ("fchmod", (3, 0o755), None),
        ("fchmod", (3, 0o4755), errno.EPERM),
        ("openat", (0, 0, CREATE | WRITE, 0o644), None),
        ("openat", (0, 0, CREATE | WRITE, 0o4755), errno.EPERM),
        ("openat", (0, 0, WRITE, 0o7777), None),
        ("openat2", (), errno.ENOSYS),
        ("io_uring_setup", (), errno.ENOSYS),
        ("keyctl", (10,), errno.EPERM),
        ("socket", (2, 1), None),
        ("socket", (1, 1), None),
        ("socket", (40, 1), errno.EAFNOSUPPORT),
        ("ioctl", (0, 0x5413), None),
        ("ioctl", (0, 0x5412), errno.EPERM),
    ],
)
def test_what_is_refused(
    machine: str, call: str, arguments: tuple[int, ...], error: int | None
) -> None:
    program = seccomp_filter(USERS_MODES, machine)
    assert program is not None
    assert verdict(program, ARCH[machine], NUMBERS[machine][call], *arguments) == error


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_set_group_bits_are_refused_to_root_only(machine: str) -> None:
    for bits, error in ((USERS_MODES, None), (ROOTS_MODES, errno.EPERM)):
        program = seccomp_filter(bits, machine)
        assert program is not None
        number = NUMBERS[machine]["fchmod"]
        assert verdict(program, ARCH[machine], number, 3, 0o2755) == error


def test_other_system_call_tables_are_closed() -> None:
    program = seccomp_filter(USERS_MODES, "x86_64")
    assert program is not None
    assert verdict(program, 0x40000003, 4) == errno.ENOSYS
    assert verdict(program, ARCH["x86_64"], 0x40000000 + 1) == errno.ENOSYS


def test_a_machine_without_numbers_has_no_filter() -> None:
    assert seccomp_filter(USERS_MODES, "riscv64") is None
