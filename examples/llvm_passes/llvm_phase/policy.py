"""An encoder–decoder transformer: it reads a program, and writes the passes one after the other.

The encoder sees the tokens of the program's IR and its Autophase features; the decoder sees the
passes so far, and what they have made of the features. A transformer after Vaswani et al. 2017
(arXiv:1706.03762), with normalisation before each part.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from aerl_trainer.config.checks import require
from llvm_phase.sequences import Evaluation

__all__ = ["STEP_FEATURES", "Memory", "PassPolicy", "PolicyConfig", "step_features"]

STEP_FEATURES = 2 * 56 + 2
"""What the decoder sees at a position besides the pass before: see ``step_features``."""
FEATURE_SCALE = 5.0
"""Counts enter as logarithms, divided by this."""
PATCH = 4
"""Tokens that one position of the encoder reads."""


@dataclass(frozen=True)
class PolicyConfig:
    """Sizes of the transformer."""

    width: int = 128
    """d, a multiple of ``heads``."""
    heads: int = 4
    """Of each attention."""
    feedforward: int = 256
    """Width between the two layers of each feed-forward part."""
    encoder_layers: int = 2
    """≥ 0."""
    decoder_layers: int = 2
    """≥ 1."""
    fusion: Literal["none", "add", "concat"] = "concat"
    """How Autophase joins the IR in the encoder: not at all, added to each position, or beside
    each position, with a linear layer over both."""

    def __post_init__(self) -> None:
        require(
            self.width >= 1 and self.heads >= 1 and self.width % self.heads == 0,
            "policy.width must be a multiple of policy.heads",
        )
        require(self.feedforward >= 1, "policy.feedforward must be at least 1")
        require(self.encoder_layers >= 0, "policy.encoder_layers must not be negative")
        require(self.decoder_layers >= 1, "policy.decoder_layers must be at least 1")
        require(
            self.fusion in ("none", "add", "concat"),
            'policy.fusion is "none", "add" or "concat"',
        )


def step_features(now: Tensor, initial: Tensor, step: int | Tensor, horizon: int) -> Tensor:
    """What the decoder is told of the module before a pass.

    Args:
        now: ``[B, 56]`` Autophase of the module, int64.
        initial: ``[B, 56]`` of the program.
        step: passes so far.
        horizon: most passes.

    Returns:
        ``[B, STEP_FEATURES]``: logarithms of the counts, their changes since the start, the share
        of the instructions that is left, and the share of the steps that is over.
    """
    before, after = torch.log1p(initial.float()), torch.log1p(now.float())
    left = now[:, 51:52].float() / initial[:, 51:52].clamp(min=1).float()
    over = torch.full_like(left, step / horizon)
    return torch.cat([after / FEATURE_SCALE, after - before, left, over], dim=1)


@dataclass
class Memory:
    """What has been computed of B sequences that are being written, to go on from there."""

    cross: list[tuple[Tensor, Tensor]]
    """Per layer keys and values of the program, ``[B, heads, S, d / heads]``."""
    past: list[tuple[Tensor, Tensor] | None]
    """Per layer keys and values of the positions so far."""
    summary: Tensor
    """``[B, d]`` of the program."""
    position: int = 0


class Attention(nn.Module):
    """Multi-head attention whose keys and values can be kept."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.out = nn.Linear(width, width), nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)

    def keys_values(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """``[B, heads, S, d / heads]`` twice."""
        keys, values = self.key_value(x).chunk(2, dim=-1)
        return self._split(keys), self._split(values)

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, *, causal: bool = False) -> Tensor:
        query = self._split(self.query(x))
        mixed = functional.scaled_dot_product_attention(query, keys, values, is_causal=causal)
        return self.out(mixed.transpose(1, 2).flatten(2))

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class DecoderLayer(nn.Module):
    """Attention to the positions before, to the program, and a feed-forward part."""

    def __init__(self, config: PolicyConfig) -> None:
        super().__init__()
        d = config.width
        self.norms = nn.ModuleList(nn.LayerNorm(d) for _ in range(3))
        self.own, self.cross = Attention(d, config.heads), Attention(d, config.heads)
        self.feedforward = nn.Sequential(
            nn.Linear(d, config.feedforward), nn.GELU(), nn.Linear(config.feedforward, d)
        )

    def forward(
        self,
        x: Tensor,
        cross: tuple[Tensor, Tensor],
        past: tuple[Tensor, Tensor] | None,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """All positions at once where there is no past; else the next one alone."""
        normed = self.norms[0](x)
        keys, values = self.own.keys_values(normed)
        if past is not None:
            keys, values = torch.cat([past[0], keys], 2), torch.cat([past[1], values], 2)
        x = x + self.own(normed, keys, values, causal=past is None)
        x = x + self.cross(self.norms[1](x), *cross)
        return x + self.feedforward(self.norms[2](x)), (keys, values)


class PassPolicy(nn.Module):
    """The policy, a ``SequencePolicy``.

    Its inputs are ``program`` ``[B]``, rows of the table given to ``set_programs``, and
    ``features`` ``[B, T, STEP_FEATURES]``. Actions are the passes and, as number ``n_passes``, the
    end of the sequence.

    Args:
        config: sizes.
        n_passes: actions but for the end.
        horizon: T, most actions in a sequence.
        vocabulary: number of tokens of IR.
        token_length: tokens of a program, a multiple of ``PATCH``.
    """

    def __init__(
        self, config: PolicyConfig, n_passes: int, horizon: int, vocabulary: int, token_length: int
    ) -> None:
        super().__init__()
        require(token_length % PATCH == 0, f"token_length must be a multiple of {PATCH}")
        d = config.width
        self.config, self.n_passes, self.horizon = config, n_passes, horizon
        self.end, self.begin = n_passes, n_passes + 1
        self.tokens = nn.Embedding(vocabulary, d, padding_idx=0)
        self.patch = nn.Conv1d(d, d, PATCH, stride=PATCH)
        self.places = nn.Parameter(0.02 * torch.randn(token_length // PATCH, d))
        self.autophase = nn.Sequential(nn.Linear(56, d), nn.GELU(), nn.Linear(d, d))
        self.fuse = nn.Linear(2 * d, d) if config.fusion == "concat" else nn.Identity()
        self.encoder = nn.ModuleList(
            nn.TransformerEncoderLayer(
                d, config.heads, config.feedforward, 0.0, "gelu", batch_first=True, norm_first=True
            )
            for _ in range(config.encoder_layers)
        )
        self.encoder_norm = nn.LayerNorm(d)
        self.actions = nn.Embedding(n_passes + 2, d)
        self.positions = nn.Parameter(0.02 * torch.randn(horizon, d))
        self.progress = nn.Linear(STEP_FEATURES, d)
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.decoder_norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, n_passes + 1)
        self.critic = nn.Sequential(nn.Linear(2 * d, d), nn.GELU(), nn.Linear(d, 1))
        nn.init.normal_(self.head.weight, std=0.01)
        nn.init.zeros_(self.head.bias)
        self._programs: tuple[Tensor, Tensor]

    def set_programs(self, tokens: Tensor, autophase: Tensor) -> None:
        """The programs that ``program`` counts: tokens ``[P, L]`` and Autophase ``[P, 56]``."""
        self._programs = tokens, torch.log1p(autophase.float()) / FEATURE_SCALE

    def encode(self, programs: Tensor) -> Tensor:
        """``[P', S, d]`` of rows of the table."""
        tokens, counts = (table[programs] for table in self._programs)
        x = self.patch(self.tokens(tokens).transpose(1, 2)).transpose(1, 2) + self.places
        if self.config.fusion != "none":
            features = self.autophase(counts).unsqueeze(1)
            if self.config.fusion == "add":
                x = x + features
            else:
                x = self.fuse(torch.cat([x, features.expand_as(x)], dim=-1))
        for layer in self.encoder:
            x = layer(x)
        return self.encoder_norm(x)

    def start(self, program: Tensor) -> Memory:
        """Nothing written yet: B sequences for rows ``[B]`` of the table."""
        rows, inverse = program.unique(return_inverse=True)
        encoded = self.encode(rows)
        cross = [layer.cross.keys_values(encoded) for layer in self.decoder]
        return Memory(
            [(keys[inverse], values[inverse]) for keys, values in cross],
            [None] * len(self.decoder),
            encoded.mean(dim=1)[inverse],
        )

    def forward(self, inputs: Mapping[str, Tensor], actions: Tensor) -> Evaluation:
        """Logits ``[B, T, n_passes + 1]`` and values ``[B, T]`` at all positions in one pass."""
        begin = torch.full_like(actions[:, :1], self.begin)
        before = torch.cat([begin, actions[:, :-1]], dim=1)
        return self._decode(self.start(inputs["program"]), before, inputs["features"])

    def next(self, memory: Memory, before: Tensor, features: Tensor) -> Evaluation:
        """Logits ``[B, n_passes + 1]`` and values ``[B]`` at the next position.

        Args:
            memory: goes on by one position.
            before: ``[B]`` the actions before; ``begin`` at the start.
            features: ``[B, STEP_FEATURES]``.
        """
        logits, values = self._decode(memory, before.unsqueeze(1), features.unsqueeze(1))
        return Evaluation(logits.squeeze(1), values.squeeze(1))

    def _decode(self, memory: Memory, before: Tensor, features: Tensor) -> Evaluation:
        start, length = memory.position, before.shape[1]
        progress = self.progress(features)
        x = self.actions(before) + self.positions[start : start + length] + progress
        for i, layer in enumerate(self.decoder):
            x, memory.past[i] = layer(x, memory.cross[i], memory.past[i])
        memory.position += length
        summary = memory.summary.unsqueeze(1).expand_as(progress)
        values = self.critic(torch.cat([summary, progress], dim=-1)).squeeze(-1)
        return Evaluation(self.head(self.decoder_norm(x)), values)
