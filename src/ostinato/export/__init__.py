"""Programs in the formats of others."""
