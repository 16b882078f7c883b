"""Numeric kernels: arrays in, arrays out, compiled by numba, no classes and no hidden state.

Every kernel also runs as plain Python under ``NUMBA_DISABLE_JIT=1``; the tests use both.
"""
