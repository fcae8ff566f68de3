"""The words of `--help`. The codes are computed by `headway.status.exit_code`."""

from typing import Final

EXAMPLES: Final = """\
examples:
  headway demo
  headway run "find why the tests fail and fix it" -C path --model openai:MODEL \\
      --protect tests --check "python -m unittest discover -s tests"
  headway resume NAME "now the same for the other module"
  headway show NAME
  headway undo NAME
"""

COMMANDS: Final = {
    "demo": "repair a small failing project in front of you, without any key",
    "run": "do a task in a folder",
    "resume": "go on with a thread, answer its question, or give it a new message",
    "threads": "list the threads of this data folder",
    "show": "show a thread, or one step of it",
    "fork": "a branch from any step, with the files of that moment",
    "diff": "two steps side by side",
    "restore": "go back to a step in place, files and conversation",
    "undo": "go back to before the last run, restore or apply",
    "replay": "recorded replies and results through today's prompts and graph",
    "apply": "bring the result of a run with --copy into the workspace",
    "rm": "remove threads with all that belongs to them",
    "prune": "keep only the newest steps of a thread",
    "doctor": "show the configuration with its sources and what the sandbox can do",
}

EXAMPLE: Final = {
    "demo": "headway demo",
    "run": 'headway run "find why the tests fail and fix it" -C path --model openai:MODEL',
    "resume": 'headway resume NAME --limit model_calls=100\n  headway resume - "one thing more"',
    "threads": "headway threads --json",
    "show": "headway show NAME\n  headway show NAME@7 --files",
    "fork": 'headway fork NAME@7 --set "task=only say what is wrong" --run',
    "diff": "headway diff NAME@20 @b2",
    "restore": "headway restore NAME@7 --dry-run",
    "undo": "headway undo NAME",
    "replay": "headway replay NAME --check",
    "apply": "headway apply NAME --dry-run",
    "rm": "headway rm NAME",
    "prune": "headway prune NAME --keep 100",
    "doctor": "headway doctor",
}

SCRIPT: Final = """\
scripted:FILE says the replies of a file in their order, one JSON object a line:
  {"content": "I look.", "tool_calls": [{"name": "bash", "args": {"command": "ls"}}]}
  {"content": "The folder is empty."}
"""

EXIT_CODES: Final[dict[int, str]] = {
    0: "completed",
    1: "no acceptable answer, a red check, a refusal; replay --check diverged",
    2: "nothing was run: wrong use, no sandbox, the thread is busy or of a newer version",
    3: "stopped: no progress",
    4: "stopped at a limit",
    5: "the model failed for good",
    6: "waits for your approval or answer",
    74: "stdout took no more; what ran is kept",
    124: "stopped at the limit of seconds",
    129: "stopped because the terminal went away (SIGHUP)",
    130: "stopped by Ctrl-C",
    141: "the reader of stdout went away",
    143: "stopped by SIGTERM",
}


def exit_code_table() -> str:
    """One code a line."""
    return "\n".join(f"  {code:<4} {meaning}" for code, meaning in EXIT_CODES.items())
