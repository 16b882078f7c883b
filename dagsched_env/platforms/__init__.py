"""The machines: what turns a workflow into an instance."""

from dagsched_env.platforms.drawn import Platform, RandomPlatform

__all__ = ["Platform", "RandomPlatform"]
