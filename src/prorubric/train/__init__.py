"""Thin adapters: the one reward object inside each trainer. Each needs its trainer only when it is used."""
