"""A small world in which a policy scores higher and answers worse; it is not evidence about any real model."""
