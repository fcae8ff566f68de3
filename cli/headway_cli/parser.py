"""The command line as an argparse tree. Cheap to build: nothing here imports LangGraph."""

import argparse
from typing import Final

from headway_cli.help_text import COMMANDS, EXAMPLE, EXAMPLES, SCRIPT, exit_code_table
from headway_cli.wrong_use import Parser, Version

NAMING: Final = frozenset(COMMANDS) - {"demo", "run", "threads", "doctor"}
"""Commands about a thread that was started before."""


def build_parser() -> argparse.ArgumentParser:
    """The whole command line; `args.command` names the module that carries it out."""
    parser = Parser(
        prog="headway",
        description="An agent that finishes or says why not, and can be rewound, files included."
        f"\n\n{EXAMPLES}",
        epilog=f"exit codes:\n{exit_code_table()}\n\nstdout is the result, stderr the progress.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=Version, nargs=0, help="print the version")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    fill = {
        "demo": _demo,
        "run": _run,
        "resume": _resume,
        "threads": _threads,
        "show": _show,
        "fork": _fork,
        "diff": _diff,
        "restore": _restore,
        "undo": _undo,
        "replay": _replay,
        "apply": _undo,
        "rm": _rm,
        "prune": _prune,
        "doctor": _doctor,
    }
    for name, text in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=text,
            description=f"{text.capitalize()}.\n\n  {EXAMPLE[name]}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        fill[name](command)
        if name in NAMING:
            _add_folder(command)
    return parser


def _demo(parser: argparse.ArgumentParser) -> None:
    _add_output(parser)


def _run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="what to do, in your words; - reads stdin")
    parser.add_argument(
        "-C",
        dest="workspace",
        metavar="DIR",
        default=".",
        help="the folder to work in (here)",
    )
    parser.add_argument("--thread", metavar="NAME", help="the new thread's name (default: made up)")
    parser.add_argument(
        "--copy", action="store_true", help="work in a copy; `headway apply` brings it back"
    )
    _add_model(parser)
    _add_limits(parser)
    _add_guards(parser)
    _add_output(parser)
    parser.epilog = SCRIPT


def _resume(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "thread",
        nargs="?",
        metavar="THREAD[@BRANCH]",
        help="its name or the start of it; none or - is the newest in this folder",
    )
    parser.add_argument("message", nargs="?", help="a new message; - reads stdin")
    decide = parser.add_mutually_exclusive_group()
    decide.add_argument("--approve", action="store_true", help="carry out what waits for approval")
    decide.add_argument("--reject", metavar="WHY", help="do not; the model reads why")
    parser.add_argument("--answer", metavar="TEXT", help="answer the question that waits")
    _add_model(parser)
    _add_limits(parser)
    _add_output(parser)


def _threads(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def _show(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "thread",
        nargs="?",
        metavar="THREAD[@STEP]",
        help="the newest in this folder without a name",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--state", action="store_true", help="the whole state at the step")
    what.add_argument("--request", action="store_true", help="what was sent to the model there")
    what.add_argument("--files", action="store_true", help="what the step changed, as a diff")
    what.add_argument("--graph", action="store_true", help="the graph, as Mermaid text")
    parser.add_argument("--all", action="store_true", help="every step, not only the newest 50")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def _fork(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("step", metavar="THREAD@STEP", help="where the branch begins")
    parser.add_argument("--name", metavar="NAME", help="of the branch (default: b2, b3, …)")
    parser.add_argument(
        "--set",
        action="append",
        metavar="WHAT=TEXT",
        help="task=…, result[:CALL]=…, message:ID=…, model=…, limit:NAME=…; repeatable",
    )
    parser.add_argument("--run", action="store_true", help="go on with the branch at once")
    _add_model(parser)
    _add_limits(parser)
    _add_output(parser)


def _diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="THREAD[@STEP]")
    parser.add_argument("b", metavar="[THREAD]@STEP", help="without a name the same thread")
    parser.add_argument("--state", action="store_true", help="the values of private state, too")


def _restore(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("step", metavar="THREAD@STEP", help="to go back to")
    _add_restoring(parser)


def _undo(parser: argparse.ArgumentParser) -> None:
    _add_thread(parser)
    _add_restoring(parser)


def _replay(parser: argparse.ArgumentParser) -> None:
    _add_thread(parser)
    parser.add_argument("--check", action="store_true", help="exit 1 where it diverged")
    parser.add_argument(
        "--live", action="store_true", help="with real model and tools, on a branch of its own"
    )
    _add_model(parser)
    _add_limits(parser)
    _add_output(parser)


def _rm(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("threads", nargs="+", metavar="THREAD", help="its name or the start of it")


def _prune(parser: argparse.ArgumentParser) -> None:
    _add_thread(parser)
    parser.add_argument(
        "--keep", type=int, default=50, metavar="N", help="newest steps of each branch (50)"
    )


def _add_restoring(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only say what would change")
    parser.add_argument(
        "--force", action="store_true", help="overwrite changes made outside this thread, too"
    )
    parser.add_argument("--all", action="store_true", help="name every file, not only the first 30")


def _doctor(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--env-file", metavar="FILE", help="a .env file to read as well")


def _add_thread(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "thread",
        nargs="?",
        metavar="THREAD",
        help="its name or the start of it; none or - is the newest in this folder",
    )


def _add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-C",
        dest="workspace",
        metavar="DIR",
        default=".",
        help="the folder whose newest thread is meant where none is named (here)",
    )


def _add_model(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("model")
    group.add_argument(
        "--model",
        metavar="M",
        help="openai:NAME (any compatible server), another PROVIDER:NAME, or scripted:FILE",
    )
    group.add_argument(
        "--model-arg",
        action="append",
        metavar="KEY=JSON",
        help="an argument for the model: temperature=0, max_tokens=2000; repeatable",
    )
    group.add_argument(
        "--protocol",
        metavar="P",
        help="how tools are called: auto (default), native, or text for models that cannot",
    )
    group.add_argument(
        "--window",
        type=int,
        metavar="TOKENS",
        help="the model's context (default: as known of the model, else 128000)",
    )
    group.add_argument(
        "--env-file", metavar="FILE", help="a .env file to read (default: the data folder's)"
    )


def _add_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--limit",
        action="append",
        metavar="NAME=VALUE",
        help="model_calls (60), tool_calls (200), seconds (3600), tokens, cost,"
        " model_timeout (300), tool_timeout (120); none is off; repeatable",
    )


def _add_guards(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what it may do")
    group.add_argument(
        "--protect", action="append", metavar="P", help="a path or glob it must not change"
    )
    group.add_argument(
        "--check", metavar="CMD", help="a command that must succeed before the answer counts"
    )
    group.add_argument(
        "--ask", metavar="WHEN", help="never (default), edits or all: what needs your approval"
    )
    group.add_argument(
        "--allow", action="append", metavar="RULE", help="a tool, or tool(pattern), not asked about"
    )
    group.add_argument(
        "--on-stop", metavar="WHAT", help="return (default), or ask you how to go on"
    )
    group.add_argument(
        "--sandbox", metavar="KIND", help="bubblewrap (default), or none: commands run as you"
    )
    group.add_argument(
        "--network", action=argparse.BooleanOptionalAction, default=None, help="let commands out"
    )
    group.add_argument("--hide", action="append", metavar="GLOB", help="files it sees as empty")
    group.add_argument(
        "--ro", action="append", metavar="PATH", help="a path outside that commands may read"
    )
    group.add_argument(
        "--unsafe-workspace", action="store_true", help="work in a home or above headway's data"
    )
    group.add_argument(
        "--instructions", metavar="FILE", help="project rules for the model, from this file"
    )
    group.add_argument(
        "--thoughts",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="ask the model for a thought after each observation",
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object on stdout")
    form.add_argument("--jsonl", action="store_true", help="one JSON event a line on stdout")
