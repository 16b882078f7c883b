"""Errors of processes that cannot be kept alive."""


class SearchPoolError(RuntimeError):
    """The processes keep dying; the message says where their logs are."""


class FleetError(RuntimeError):
    """The members of a fleet keep dying; the message says why."""
