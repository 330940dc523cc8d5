"""halley: how fast will this model train on that cluster, why, and what would be better?

The same engine as the program ``halley``; every result has the keys that it prints with --json.

>>> import halley as hl
>>> hl.estimate("llama3-70b", "dgx-h100:64", tp=8, pp=2, global_batch=128).fits
True
"""

from ._cluster import Cluster
from ._errors import Cancelled, Error, Infeasible, LibraryError
from ._many import Batch, estimate_many
from ._native import VERSION as __version__
from ._record import record
from ._result import Estimate, Exploration, Plans, Result, Simulation
from ._trace import Nodes, Rank, Trace, TraceBuilder
from ._verbs import (calibrate, estimate, explore, kernels, link, plan, presets, request, results,
                     score, sim, topology)

__all__ = ["Batch", "Cancelled", "Cluster", "Error", "Estimate", "Exploration", "Infeasible",
           "LibraryError", "Nodes", "Plans", "Rank", "Result", "Simulation", "Trace",
           "TraceBuilder", "calibrate", "estimate", "estimate_many", "explore", "kernels", "link",
           "plan", "presets", "record", "request", "results", "score", "sim", "topology",
           "__version__"]
