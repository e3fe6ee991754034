"""Where values live: slots of a loop, histories, and places that values share."""
