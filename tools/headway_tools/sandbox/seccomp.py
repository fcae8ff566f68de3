"""A filter of system calls, for what namespaces and mounts do not hold.

Setuid files (as host root they would be root's on the host), the host's keyrings, vsock, typing
into a terminal, kernel interfaces that have no namespace, and io_uring, which passes filters by.
"""

import errno
import platform
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_ALLOW: Final = 0x7FFF0000
_ERRNO: Final = 0x00050000

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _ARCH_AT, _ARGUMENTS_AT = 0, 4, 16

_CREATES: Final = 0o100 | 0o20000000
"""O_CREAT and O_TMPFILE: only with one of them `open` has a mode."""

USERS_MODES: Final = 0o4000
ROOTS_MODES: Final = 0o6000
"""Bits of file modes to refuse; a set-group bit of root's group is root's business, too."""

_VSOCK, _ALG = 40, 38
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_X32: Final = 0x40000000


@dataclass(frozen=True)
class _Machine:
    arch: int
    forbidden: tuple[int, ...]
    """bpf, keyrings, modules, kexec, perf, userfaultfd, handles, syslog, quota, swap, clock …"""
    missing: tuple[int, ...]
    """Answered as by an older kernel, so that programs take another way: io_uring, openat2."""
    modes: tuple[tuple[int, int], ...]
    """(number, argument): calls with a file mode."""
    opens: tuple[tuple[int, int, int], ...]
    """(number, argument of the flags, argument of the mode)."""
    socket: int
    ioctl: int


_MACHINES: Final = {
    "x86_64": _Machine(
        arch=0xC000003E,
        forbidden=(
            *(103, 163, 164, 167, 168, 169, 172, 173, 175, 176, 179, 227, 246, 248, 249, 250),
            *(298, 304, 305, 313, 320, 321, 323),
        ),
        missing=(425, 426, 427, 437),
        modes=((90, 1), (91, 1), (133, 1), (85, 1), (259, 2), (268, 2), (452, 2)),
        opens=((2, 1, 2), (257, 2, 3)),
        socket=41,
        ioctl=16,
    ),
    "aarch64": _Machine(
        arch=0xC00000B7,
        forbidden=(
            *(60, 89, 104, 105, 106, 112, 116, 142, 170, 217, 218, 219, 224, 225, 241, 265),
            *(266, 273, 280, 282, 294),
        ),
        missing=(425, 426, 427, 437),
        modes=((33, 2), (52, 1), (53, 2), (452, 2)),
        opens=((56, 2, 3),),
        socket=198,
        ioctl=29,
    ),
}

_Instruction = tuple[int, int, int, int]


def seccomp_filter(forbidden_mode: int, machine: str | None = None) -> bytes | None:
    """The program for `bwrap --seccomp`, refusing file modes with any bit of `forbidden_mode`.

    None for machines that we have no numbers of.
    """
    known = _MACHINES.get(machine or platform.machine())
    if known is None:
        return None
    program = list(_program(known, forbidden_mode))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _program(machine: _Machine, forbidden_mode: int) -> Iterator[_Instruction]:
    yield _load(_ARCH_AT)
    yield from ((_JUMP_EQUAL, 1, 0, machine.arch), _fail(errno.ENOSYS))
    yield _load(_NUMBER_AT)
    yield from ((_JUMP_AT_LEAST, 0, 1, _X32), _fail(errno.ENOSYS))
    for number in machine.missing:
        yield from _on(number, [_fail(errno.ENOSYS)])
    for number in machine.forbidden:
        yield from _on(number, [_fail(errno.EPERM)])
    for number, argument in machine.modes:
        yield from _on(number, [*_refuse_bits(argument, forbidden_mode), _allow()])
    for number, flags, argument in machine.opens:
        refuse = [*_refuse_bits(argument, forbidden_mode), _allow()]
        creates = [_argument(flags), (_JUMP_ANY, 0, len(refuse), _CREATES), *refuse, _allow()]
        yield from _on(number, creates)
    yield from _on(machine.socket, _refuse_values(0, (_VSOCK, _ALG), errno.EAFNOSUPPORT))
    yield from _on(machine.ioctl, _refuse_values(1, (_TIOCSTI, _TIOCLINUX), errno.EPERM))
    yield _allow()


def _on(number: int, block: Sequence[_Instruction]) -> Iterator[_Instruction]:
    """`block`, which ends by returning, for that system call only."""
    yield (_JUMP_EQUAL, 0, len(block), number)
    yield from block


def _refuse_bits(argument: int, bits: int) -> list[_Instruction]:
    return [_argument(argument), (_JUMP_ANY, 0, 1, bits), _fail(errno.EPERM)]


def _refuse_values(argument: int, values: Sequence[int], code: int) -> list[_Instruction]:
    tests = [step for value in values for step in ((_JUMP_EQUAL, 0, 1, value), _fail(code))]
    return [_argument(argument), *tests, _allow()]


def _argument(position: int) -> _Instruction:
    """The low half of an argument; both machines are little-endian."""
    return _load(_ARGUMENTS_AT + 8 * position)


def _load(offset: int) -> _Instruction:
    return (_LOAD, 0, 0, offset)


def _allow() -> _Instruction:
    return (_RETURN, 0, 0, _ALLOW)


def _fail(code: int) -> _Instruction:
    return (_RETURN, 0, 0, _ERRNO | code)
