"""Rewards over HTTP: what OpenRLHF, slime and NeMo Gym speak, and a plain route for everyone else.

An unknown reward is never a number here: it is a 503 with the reasons, so that a trainer's own retry works. Everything
else that goes wrong has a status of its own and one line of text.
"""
