"""Runs the probes that aim at a sibling, from a cell or as a command: prints a line for each."""

from __future__ import annotations

import os

from inside.catalogue import sibling_probes
from inside.frame import facts_of, run

for line in run(sibling_probes(), facts_of(os.getcwd())):
    print(line, flush=True)
