"""The attacks that would change the host, lift a limit or stay alive, as data."""

# ruff: noqa: E501 - an attack is one line

from typing import Literal

from sandbox.attack import Attack, Identity, leak, python


def _outside(
    name: str, *commands: str, only: Identity | None = None, reopen: bool = False
) -> Attack:
    return Attack(name, "outside", commands, only, reopen=reopen)


WRITES = (
    _outside("write by ..", "echo x >../planted"),
    _outside("write by absolute path", "echo x >{outside}/planted"),
    _outside("write to the home", "echo x >>{home}/.bashrc"),
    _outside("write through a link", "ln -s {outside} o; echo x >o/planted"),
    _outside("write through a link that was there", "echo x >link-outside/planted"),
    _outside("append to a file above", "echo x >>../.env"),
    _outside("delete outside", "rm -rf {outside}/secret"),
    _outside("move out of the workspace", "mv README ../moved"),
    _outside("hard link to outside", "ln README {outside}/planted"),
    _outside("change a mode outside", "chmod 777 {outside}/secret"),
    _outside("change a time outside", "touch -d 2001-01-01 {outside}/secret"),
    _outside("write to the data folder of headway", "echo x >>{data}/journal"),
    _outside("stored copies", "mkdir -p {data}/private/protected; echo x >{data}/private/protected/x"),
    _outside("archive with paths upward", python(
        "import io, tarfile\n"
        "with tarfile.open('t.tar', 'w') as t: t.addfile(tarfile.TarInfo('../planted'))"
    ) + "\ntar xPf t.tar"),
    _outside(
        "link in the place of a mounted folder's parent",
        "mv .git away; ln -s {outside} .git; mkdir {outside}/hooks",
        "touch .git/planted .git/hooks/planted",
        reopen=True,
    ),
)  # fmt: skip
KERNEL = (
    leak("new user namespace", "unshare -Ur true && echo ESC''APED"),
    leak("mount in a new namespace", "unshare -Urm mount -t tmpfs none /mnt && echo ESC''APED"),
    leak("mount", "mount -t tmpfs none /mnt && umount /mnt && echo ESC''APED", only="root"),
    leak("device file", "mknod d b 7 0 && echo ESC''APED", only="root"),
    leak("chroot", "chroot / /bin/true && echo ESC''APED", only="root"),
    leak("core pattern", ": 3<>/proc/sys/kernel/core_pattern && echo ESC''APED", only="root"),
    leak("kernel settings", "test -w /proc/sys/vm/drop_caches && echo ESC''APED", only="root"),
    leak("timers of the kernel", "head -c1 /proc/timer_list && echo ESC''APED", only="root"),
    leak("change of the system's programs", "t=/usr/headway-test; touch $t && rm $t && echo ESC''APED",
          only="root"),
    leak("change of the system's settings", "t=/etc/headway-test; touch $t && rm $t && echo ESC''APED",
          only="root"),
    Attack("set-user bit", "setuid", ("cp /bin/true t; chmod u+s t",)),
    Attack("set-user bit by octal mode", "setuid", ("cp /bin/true t; chmod 4755 t",)),
    Attack("set-user bit by install", "setuid", ("install -m 4755 /bin/true t",)),
    Attack("set-user bit at creation", "setuid", (python(
        "import os; os.open('t', os.O_CREAT | os.O_WRONLY, 0o4755)"),)),
    Attack("set-user bit by archive", "setuid", (python(
        "import tarfile\n"
        "m = tarfile.TarInfo('t'); m.mode = 0o4755\n"
        "with tarfile.open('t.tar', 'w') as t: t.addfile(m)"
    ) + "\ntar xpf t.tar",)),
    Attack("set-group bit", "setuid", ("cp /bin/true t; chmod g+s t",), only="root"),
)  # fmt: skip
LIMITS = (
    leak("memory beyond the limit", python("b = bytearray(400 << 20); print('ESC' + 'APED')")),
    leak("file beyond the limit", "head -c 40M /dev/zero >f && echo ESC''APED"),
    leak("files open beyond the limit", python(
        "import os; fds = [os.dup(1) for _ in range(500)]; print('ESC' + 'APED')")),
    leak("shared memory beyond the limit", "t=/dev/shm/hw-test-$$; trap \"rm -f $t\" EXIT; "
          "head -c 8M /dev/zero >$t && echo ESC''APED"),
    leak("processes beyond the limit", "for i in $(seq 80); do sleep 9 & done; "
          "test $(jobs -rp | wc -l) -ge 80 && echo ESC''APED"),
    leak("limit raised again", "ulimit -n 700 && echo ESC''APED"),
)  # fmt: skip
VICTIMS = (
    Attack("signal to another process", "victim", ("kill -9 {victim}",)),
    Attack("priority of another process", "victim", ("renice -n 15 -p {victim}",)),
    Attack("limits of another process", "victim", ("prlimit --pid {victim} --nofile=7",)),
    Attack("out-of-memory score", "victim", ("echo 900 >/proc/{victim}/oom_score_adj",)),
)


def _protected(name: str, *commands: str, reopen: bool = False) -> Attack:
    return Attack(name, "protected", commands, reopen=reopen)


PROTECTED = (
    _protected("write a protected file", "echo x >tests/test_a.py"),
    _protected("append to it", "echo x >>tests/test_a.py"),
    _protected("truncate it", "truncate -s 0 tests/test_a.py"),
    _protected("delete it", "rm -f tests/test_a.py"),
    _protected("delete its folder", "rm -rf tests"),
    _protected("move it away", "mv tests/test_a.py ~"),
    _protected("move another over it", "cp README r; mv -f r tests/test_a.py"),
    _protected("move its folder away", "mv tests old; mkdir tests"),
    _protected("edit in place", "sed -i s/1/2/ tests/test_a.py"),
    _protected("change its mode", "chmod 000 tests/test_a.py"),
    _protected("write by hard link", "ln tests/test_a.py h; echo x >h"),
    _protected("write by link", "ln -s tests/test_a.py l; echo x >l"),
    _protected("write through its other name", "echo x >/proc/self/cwd/tests/test_a.py"),
    _protected("write mapped memory", python(
        "import mmap\n"
        "with open('tests/test_a.py', 'r+b') as f: mmap.mmap(f.fileno(), 0)[0:1] = b'X'")),
    _protected("same size and time", "cp -p tests/test_a.py ~/k; echo 'assert 2' >tests/test_a.py; "
               "touch -r ~/k tests/test_a.py"),
    _protected("restore an old version by git", "git rm -qf tests/test_a.py"),
    _protected("stash", "git stash -q"),
    _protected("new file in a protected folder", "echo x >tests/conftest.py"),
    _protected("protected file that did not exist", "echo x >missing.cfg"),
    _protected("protected folder that did not exist", "mkdir -p absent/deep; echo x >absent/deep/f"),
    _protected("new file that a glob names", "echo x >new.lock"),
    _protected("protected link turned elsewhere", "ln -sfn README golden"),
    _protected("target of a protected link", "echo x >data/golden.txt"),
    _protected("deep protected file with its parents", "mv pkg p; mkdir -p pkg/deep; echo x >pkg/deep/keep"),
    _protected("lift the mount", "umount tests 2>/dev/null; echo x >tests/test_a.py"),
    _protected("remount", "mount -o remount,rw,bind tests 2>/dev/null; echo x >tests/test_a.py"),
    _protected("nested namespace", "unshare -Urm sh -c 'umount -l tests; echo x >tests/test_a.py'; "
               "echo x >tests/test_a.py"),
    _protected("git hook", "printf '#!/bin/sh\\n' >.git/hooks/pre-commit"),
    _protected("git setting", "git config core.fsmonitor ./evil"),
    _protected("git setting by hand", "printf '[core]\\n\\tpager = evil\\n' >>.git/config"),
    _protected("git setting exchanged", "cp .git/config c; echo x >>c; mv -f c .git/config"),
    _protected("git attributes", "mkdir -p .git/info; echo '* filter=evil' >.git/info/attributes"),
    _protected("git common folder", "mkdir e; cp .git/config e; echo ../e >.git/commondir"),
    _protected("git setting of a worktree", "echo x >.git/config.worktree"),
    _protected("setting of a submodule", "echo x >>.git/modules/sub/config"),
    _protected("hook of a submodule", "mkdir -p .git/modules/sub/hooks; echo x >.git/modules/sub/hooks/h"),
    _protected("git folder exchanged", "mv .git g; cp -r g .git; echo x >>.git/config"),
    _protected("left for the next call", "mv tests t; ln -s {outside} tests", "echo x >tests/test_a.py",
               reopen=True),
)  # fmt: skip


def _survive(name: str, command: str, ended: Literal["timeout", "cancel"] | None = None) -> Attack:
    return Attack(name, "survive", (command,), ended=ended)


SURVIVORS = (
    _survive("background", "sleep {alive} &"),
    _survive("background that holds the output", "(sleep {alive}; echo late) & echo now"),
    _survive("nohup", "nohup sleep {alive} >/dev/null 2>&1 &"),
    _survive("disowned", "sleep {alive} & disown"),
    _survive("own session", "setsid sleep {alive} &"),
    _survive("own session, forked", "setsid -f sleep {alive} </dev/null >/dev/null 2>&1"),
    _survive("double fork", "(sleep {alive} &) ; (setsid sleep {alive} & exit)"),
    _survive("daemon", python(
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        os.closerange(0, 100)\n"
        "        os.execvp('sleep', ['sleep', '{alive}'])\n"
        "    os._exit(0)"
    )),
    _survive("deaf to signals", "(trap '' TERM HUP INT QUIT; exec setsid sleep {alive}) &"),
    _survive("stopped", "setsid sleep {alive} & kill -STOP $!"),
    _survive("renamed", "(exec -a 'innocent {alive}' sleep 60) & disown"),
    _survive("starts itself again", "f() {{ setsid bash -c 'sleep 1; : {alive}; sleep 50' & }}; f; f"),
    _survive("at the time-out", "setsid sleep {alive} & sleep 30", "timeout"),
    _survive("at the time-out, deaf", "trap '' TERM INT; setsid sleep {alive}; sleep 30", "timeout"),
    _survive("at a cancel", "setsid sleep {alive} & sleep 30", "cancel"),
    _survive("at a cancel, many", "for i in 1 2 3 4 5; do setsid sleep {alive} & done; wait", "cancel"),
)  # fmt: skip
