"""Whether this processor has bfloat16."""

import pytest

from services.inference.native.matrix import takes_bfloat16

NEEDED = pytest.mark.skipif(not takes_bfloat16(), reason="oneDNN has no bfloat16 on this processor")
