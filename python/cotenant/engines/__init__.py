"""Plugins that tell Cotenant of the requests of LLM engines, without a change of the engine.

An engine loads them by their entry points (pyproject.toml) where this package is installed beside it. They do nothing in a
process that is no high client of ``cotenant run``.
"""
