"""From a checklist to dimensions, and the texts that the controls read instead of them."""
