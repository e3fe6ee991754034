"""Settings of the whole test run: hypothesis is reproducible unless asked to explore."""

import os

from hypothesis import settings

# `ci` draws the same programs at every run; HYPOTHESIS_PROFILE=dev looks for new ones.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("dev", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
