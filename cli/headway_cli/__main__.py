"""`python -m headway_cli`: the `headway` command."""

import sys

from headway_cli.main import program

sys.exit(program())
