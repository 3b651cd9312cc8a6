"""A small world in which a policy scores higher and answers worse; it is no evidence about any real model."""
