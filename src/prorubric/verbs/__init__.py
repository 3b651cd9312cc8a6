"""One file per verb: config, function, result."""
