"""The error function of arrays, which numpy has not."""

from typing import Any

import numpy as np


def erf(values: Any) -> Any:
    """Return the error function of an array to 2e-7: formula 7.1.26 of Abramowitz and Stegun."""
    t = 1.0 / (1.0 + 0.3275911 * np.abs(values))
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return np.copysign(1.0 - series * np.exp(-values * values), values)
