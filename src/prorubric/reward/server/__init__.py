"""Rewards over HTTP: the protocols of OpenRLHF, slime and NeMo Gym, and a plain route for other clients."""
