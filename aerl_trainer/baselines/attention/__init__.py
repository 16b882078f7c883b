"""The attention model of Kool, van Hoof, Welling (2019) as a rival that schedules task graphs.

In reading order:

- ``states``: partial schedules in lockstep, and the pairs among which the decoder chooses
- ``graphs``: problems as tokens, and who attends to whom
- ``model``: encoder and decoder
- ``policy``: schedules that are sampled or greedy, and their log-probabilities
- ``scheduler``: a trained policy as a scheduler
- ``learner``: REINFORCE on it, as the settings of a run say
"""
