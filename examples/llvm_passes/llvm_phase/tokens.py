"""Textual IR as token numbers, by byte-pair encoding (Sennrich et al. 2016) learned from IR."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dagsched_env.problem.errors import MissingExtraError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["PADDING", "VOCABULARY", "encode", "train"]

PADDING, UNKNOWN = "[PAD]", "[UNK]"
VOCABULARY = 512
"""Largest number of tokens."""

METADATA = re.compile(r", ![\w.]+ !\d+|, align \d+| #\d+| ![\w.]+ !\d+")
LOCAL = re.compile(r"%[\w.-]+")
GLOBAL = re.compile(r"@(?!llvm\.)[\w.$-]+")


def plain(ir: str) -> str:
    """The bodies of the functions, one instruction a line, without names, alignment and metadata.

    Names carry no meaning, and a module has as many as it has values: all locals are ``%``, all
    globals ``@`` but for LLVM's intrinsics.
    """
    inside, lines = False, []
    for line in ir.split("\n"):
        if line.startswith("define"):
            inside = True
            lines.append("define")
        elif line.startswith("}"):
            inside = False
        elif inside and line.strip():
            text = METADATA.sub("", line.strip())
            lines.append("label" if not line.startswith(" ") else text)
    return GLOBAL.sub("@", LOCAL.sub("%", "\n".join(lines)))


def train(texts: Iterable[str], vocabulary: int = VOCABULARY) -> "Tokenizer":
    """Learn a tokenizer; ``[PAD]`` is token 0.

    Args:
        texts: textual IR.
        vocabulary: largest number of tokens.

    Raises:
        MissingExtraError: the package ``tokenizers`` is not installed.
    """
    try:
        from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers
    except ImportError:
        raise MissingExtraError("tokenizers", "llvm") from None
    tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN))
    # A merge never goes beyond a line: a frequent instruction may become one token.
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("\n"), behavior="merged_with_next")
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=[PADDING, UNKNOWN], show_progress=False
    )
    tokenizer.train_from_iterator([plain(text) for text in texts], trainer)
    return tokenizer


def encode(tokenizer: "Tokenizer", ir: str, length: int) -> npt.NDArray[np.int64]:
    """The first tokens of a module, ``[length]``, filled up with 0."""
    numbers = tokenizer.encode(plain(ir)).ids[:length]
    result = np.zeros(length, dtype=np.int64)
    result[: len(numbers)] = numbers
    return result
