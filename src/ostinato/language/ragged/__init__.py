"""True episodes of ragged length, in the language's own terms: `stop` and what masks do."""
