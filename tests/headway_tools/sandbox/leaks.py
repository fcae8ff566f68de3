"""The attacks that would tell a secret, as data."""

# ruff: noqa: E501 - an attack is one line

from sandbox.attack import leak, python

ENVIRONMENT = (
    leak("env", "env"),
    leak("own environ in proc", "cat /proc/self/environ"),
    leak("environ of process 1 and all others", "cat /proc/*/environ"),
    leak("arguments of other processes", "cat /proc/*/cmdline | tr '\\0' ' '"),
    leak("inherited descriptors", "for f in $(seq 3 80); do cat <&$f; done 2>/dev/null"),
    leak("descriptor of another process", "cat /proc/{victim}/fd/0"),
    leak("root of another process", "cat /proc/{victim}/root{outside}/secret"),
    leak("folder of another process", "cat /proc/{victim}/cwd/secret"),
    leak(
        "key of the session keyring",
        python(
            "import ctypes\n"
            "call = ctypes.CDLL(None, use_errno=True).syscall\n"
            "number = 250 if __import__('platform').machine() == 'x86_64' else 219\n"
            "key = call(number, 10, -3, b'user', b'headway-test', 0)\n"
            "text = ctypes.create_string_buffer(200)\n"
            "call(number, 11, key, text, 200)\n"
            "print(text.value.decode())"
        ),
    ),
    leak("keys in proc", "grep -q headway-test /proc/keys && echo ESC''APED"),
)
FILES = (
    leak("file above the workspace", "cat ../.env"),
    leak("absolute path", "cat {outside}/secret"),
    leak("private key in the home", "cat {home}/.ssh/id_test"),
    leak("git credentials in the home", "cat {home}/.git-credentials"),
    leak("global git configuration", "git config --global --list || true; git config --list"),
    leak("shell history", "cat {home}/.bash_history"),
    leak("neighbour project", "cat ../neighbour/secret"),
    leak("search of the whole disk", "grep -rs sk-headway {top}"),
    leak("link to outside", "ln -s {outside}/secret s; cat s"),
    leak("link that was there", "cat link-outside/secret"),
    leak("hard link from outside", "ln {outside}/secret s; cat s"),
    leak("root through proc self", "cat /proc/self/root{outside}/secret"),
    leak("old root of the mounts", "cat {{/oldroot,/newroot,/.oldroot,}}{outside}/secret"),
    leak("host's tmp", "cat /tmp/headway-test-{number}"),
    leak("host's shared memory", "cat /dev/shm/headway-test-{number}"),
    leak("data folder of headway", "cat {data}/journal"),
    leak("stored copies of protected files", "cat {data}/private/protected/* {data}/secret"),
    leak("users of the host", "grep -q ^daemon: /etc/passwd && echo ESC''APED"),
    leak("name of the host", "test \"$(cat /proc/sys/kernel/hostname)\" = {host} && echo ESC''APED"),
    leak("environment file", "cat .env"),
    leak("environment file deeper down", "cat config/.env.production"),
    leak("environment file by another program", "tar cf - .env | cat"),
    leak("environment file moved", "mv .env e; cat e"),
    leak("environment file by hard link", "ln .env e; cat e"),
    leak("environment file by a link", "cat .env.link settings/real"),
    leak("environment file by an earlier hard link", "cat linked"),
    leak(
        "environment file once its link is gone",
        "rm .env.link; mv settings s",
        "cat settings/real s/real",
        reopen=True,
    ),
    leak("environment file in a copy", "cp -r . ~/copy; cat ~/copy/.env"),
    leak(
        "folder named as a virtual environment's base",
        "mkdir -p venv/bin; printf 'home = {outside}\\n' >venv/pyvenv.cfg; cat {outside}/secret",
        "cat {outside}/secret",
        reopen=True,
    ),
    leak(
        "file linked as a virtual environment's interpreter",
        "mkdir -p .venv/bin; touch .venv/pyvenv.cfg; ln -s {outside}/secret .venv/bin/python",
        "cat .venv/bin/python {outside}/secret",
        reopen=True,
    ),
)  # fmt: skip
SERVICES = (
    leak("TCP server on loopback", "cat </dev/tcp/127.0.0.1/{tcp}"),
    leak("TCP server by another address", "cat </dev/tcp/127.1.2.3/{tcp}"),
    leak("UDP server on loopback", python(
        "import socket\n"
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(3)\n"
        "s.connect(('127.0.0.1', {udp})); s.send(b'x'); print(s.recv(99).decode())"
    )),
    leak("abstract socket", python(
        "import socket\n"
        "s = socket.socket(socket.AF_UNIX); s.connect('\\0headway-test-{number}')\n"
        "print(s.recv(99).decode())"
    )),
    leak("socket in a folder outside", python(
        "import socket\n"
        "s = socket.socket(socket.AF_UNIX); s.connect('{outside}/socket')\n"
        "print(s.recv(99).decode())"
    )),
    leak("list of the host's sockets", "grep -q headway-test-{number} /proc/net/unix && echo ESC''APED"),
    leak("list of the host's ports", "grep -qi :$(printf %04X {tcp}) /proc/net/tcp && echo ESC''APED"),
    leak("System V shared memory", python(
        "import ctypes\n"
        "libc = ctypes.CDLL(None); libc.shmat.restype = ctypes.c_void_p\n"
        "at = libc.shmat(libc.shmget({shm}, 0, 0), None, 0o10000)\n"
        "print(ctypes.string_at(at) if at != 2**64 - 1 else 'none')"
    )),
    leak("list of shared memory", "grep -qw {shm} /proc/sysvipc/shm && echo ESC''APED"),
)  # fmt: skip
