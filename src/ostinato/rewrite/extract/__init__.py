"""From the saturated e-graph to the cheapest legal program."""
