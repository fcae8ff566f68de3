#!/usr/bin/env bash
# Serves headway by Aegra: PostgreSQL, Redis and two workers, of which one is killed in mid-call.
# Needs uv, Python 3.12 and redis-server; leaves nothing behind but a virtual environment in $VENV.
set -euo pipefail
cd "$(dirname "$0")/.."

VENV=${VENV:-${TMPDIR:-/tmp}/headway-aegra}
command -v redis-server >/dev/null || { echo "redis-server is missing: apt-get install redis-server"; exit 1; }
[ -x "$VENV/bin/python" ] || uv venv --quiet --python "${PYTHON:-3.12}" "$VENV"
uv pip install --quiet --python "$VENV/bin/python" 'aegra-api==0.11.*' '.[postgres]'
exec bash .ci/services "$VENV/bin/python" bench/aegra.py
