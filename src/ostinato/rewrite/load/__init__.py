"""A program as rows of the e-graph, with what is known of its terms."""
