"""The models, each about one subject: the numbers for `make test`, and in `long` what the long form adds."""

from __future__ import annotations

from tests.simulation.explore.model import Model
from tests.simulation.explore.models.finishing import FINISHING
from tests.simulation.explore.models.restored import RESTORED
from tests.simulation.explore.models.running import RUNNING
from tests.simulation.explore.models.sharing import SHARING
from tests.simulation.explore.models.submitting import SUBMITTING

MODELS: tuple[Model, ...] = (*SUBMITTING, *RUNNING, *FINISHING, *RESTORED, *SHARING)
