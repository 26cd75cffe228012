#!/usr/bin/env bash
# The cuda backend on a GPU: checks first, times second, a table last; under 8 minutes, without AllenNLP.
#
#   benchmarks/gpu.sh
#
# Needs PyTorch and NumPy; for the checks pytest, pytest-timeout, hypothesis, h5py and safetensors too, and pytest-xdist
# makes them faster.
# PYTHON=COMMAND  the Python that has them (default: python3)
# OUT=FOLDER      for checks.txt, gpu.json and gpu.md (default: runs/gpu)
set -euo pipefail
cd "$(dirname "$0")/.."
PYTHON="${PYTHON:-python3}"
export OUT="${OUT:-runs/gpu}"
export PYTHONPATH=".${PYTHONPATH:+:$PYTHONPATH}"
mkdir -p "$OUT"

"$PYTHON" -c 'import torch; print("torch", torch.__version__, "on", torch.cuda.get_device_name())'

# Most of the checks' time goes into compiling kernels, on one core each.
side_by_side="$("$PYTHON" -c 'import importlib.util; print("-n 6" if importlib.util.find_spec("xdist") else "")')"

# Tests of all backends that can run here; a skipped one of this backend is a failure.
checks=passed
# shellcheck disable=SC2086  # two words, or none
timeout 240 "$PYTHON" -m pytest -q -p no:cacheprovider $side_by_side --require-backend cuda \
  tests/engine/backends tests/engine/test_lstm.py 2>&1 | tee "$OUT/checks.txt" || checks="failed, see $OUT/checks.txt"

# Compares all vectors itself, and gives no time to what differs.
times=right
timeout 225 "$PYTHON" -m elmo_plugin.benchmark.gpu --seconds 180 --output "$OUT" || times="not all right or not complete"

echo "checks: $checks; vectors that were timed: $times"
[ "$checks" = passed ] && [ "$times" = right ]
