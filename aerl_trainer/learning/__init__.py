"""From finished trees to better weights: rank rewards, prioritised replay, losses, the learner."""
