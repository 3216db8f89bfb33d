"""BERT, GPT-2, T5 and ViT of the library `transformers`, by the names that torchbench gave them.

Built from their configuration classes with random weights. ``hf_ViT_large`` stands for
``timm_vision_transformer_large`` (ViT-g/14) and has its size.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.data import Dataset

from benchmarks.common.data import Images, Pairs, Tokens
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.flop_count import Transformer
from benchmarks.common.precision import at_least_fp32
from benchmarks.common.workload import Batch, Workload

PATCH, CLASSES = 14, 1000
TINY = {"layers": 4, "width": 128, "heads": 4, "hidden": 512, "vocabulary": 512}


@dataclass(frozen=True)
class Size:
    """The size of a model, of its inputs, and of a batch."""

    family: str  # bert, gpt2, t5, vit
    layers: int  # of an encoder; as many of a decoder
    width: int
    heads: int
    hidden: int  # of the perceptrons
    vocabulary: int
    batch_size: int  # for a GPU of 40 GB: torchbench's
    length: int = 512  # tokens of a sequence; of ViT pixels of an image's side

    def flop(self, batch_size: int) -> float:
        layers = Transformer(self.layers, self.width, self.hidden)
        if self.family == "vit":
            return layers.vit(batch_size, self.length, PATCH, CLASSES)
        formula = {"bert": layers.bert, "gpt2": layers.gpt, "t5": layers.t5}[self.family]
        return formula(batch_size, self.length, self.vocabulary)

    @property
    def units(self) -> str:
        """The units of its rate; T5 counts the encoder's tokens, the decoder has as many."""
        return "images" if self.family == "vit" else "tokens"

    def items(self, batch_size: int) -> int:
        return batch_size if self.family == "vit" else batch_size * self.length

    def sized(
        self, *, tiny: bool = False, layers: int | None = None, tokens: int | None = None
    ) -> "Size":
        """The size with other ``layers`` or ``tokens``; ``tiny`` trains in an instant on a CPU."""
        if tokens is not None and self.family == "vit":
            raise UnsupportedError("--tokens is for models of text: ViT reads images")
        found = self
        if tiny:
            found = replace(self, **TINY, batch_size=4, length=self._short)
        return replace(found, layers=layers or found.layers, length=tokens or found.length)

    def narrow(self) -> "Size":
        """The size with the same layers and heads, 32 units of width for a head, short inputs."""
        width = min(self.width, 32 * self.heads)
        return replace(
            self,
            width=width,
            hidden=min(self.hidden, 4 * width),
            vocabulary=min(self.vocabulary, TINY["vocabulary"]),
            length=min(self.length, self._short),
        )

    @property
    def _short(self) -> int:
        return 4 * PATCH if self.family == "vit" else 32


SIZES: Mapping[str, Size] = {
    "hf_Bert": Size("bert", 12, 768, 12, 3072, 30522, 32),
    "hf_Bert_large": Size("bert", 24, 1024, 16, 4096, 30522, 16),
    "hf_GPT2": Size("gpt2", 12, 768, 12, 3072, 50257, 8),
    "hf_GPT2_large": Size("gpt2", 36, 1280, 20, 5120, 50257, 4),
    "hf_T5": Size("t5", 6, 512, 8, 2048, 32128, 12, 1024),
    "hf_T5_large": Size("t5", 24, 1024, 16, 4096, 32128, 4),
    "hf_ViT_large": Size("vit", 40, 1408, 16, 6144, 0, 16, 224),
}


def make(size: Size, *, tied: bool = True, attention: str = "sdpa") -> nn.Module:
    """The model with random weights; ``tied``: its scores use the matrix of the embedding."""
    import transformers

    common = {"attn_implementation": _implementation(size.family, attention)}
    if size.family == "vit":
        config: Any = transformers.ViTConfig(
            **_encoder(size), image_size=size.length, patch_size=PATCH, **common
        )
        config.num_labels = CLASSES
        return transformers.ViTForImageClassification(config)
    # No padding: transformers would look for it in every batch, and wait for the device to do so.
    text = {"vocab_size": size.vocabulary, "bos_token_id": 0, "eos_token_id": 0} | common
    text |= {"use_cache": False, "tie_word_embeddings": tied}
    if size.family == "bert":
        places = {"max_position_embeddings": max(512, size.length), "pad_token_id": None}
        config = transformers.BertConfig(**_encoder(size), **places, **text)
        return transformers.BertForMaskedLM(config)
    if size.family == "gpt2":
        config = transformers.GPT2Config(
            n_layer=size.layers,
            n_embd=size.width,
            n_head=size.heads,
            n_inner=size.hidden,
            n_positions=max(1024, size.length),
            **text,
        )
        return transformers.GPT2LMHeadModel(config)
    config = transformers.T5Config(
        num_layers=size.layers,
        d_model=size.width,
        num_heads=size.heads,
        d_kv=size.width // size.heads,
        d_ff=size.hidden,
        **text,
    )
    return transformers.T5ForConditionalGeneration(config)


def _implementation(family: str, attention: str) -> str:
    """The name in transformers of an attention, for a family of models.

    ``sdpa`` gets a second name, for which transformers makes no mask: no sequence is padded, and
    SDPA is told ``is_causal``. For the first one transformers 5 looks whether the positions of
    GPT-2 are those of several sequences: each forward pass waits for the device, and a compiled
    one, which cannot look, masks all scores, which flash attention does not support. With torch
    2.11 it also makes masks for compiled encoders. The masks of T5 hold the biases of positions. In
    transformers 4, BERT takes no other name, and T5 has no SDPA.
    """
    import transformers

    if attention != "sdpa":
        return attention
    if family == "t5":
        return "sdpa" if transformers.T5ForConditionalGeneration._supports_sdpa else "eager"
    if family == "bert" and int(transformers.__version__.split(".")[0]) < 5:
        return "sdpa"
    known = transformers.AttentionInterface
    known.register("sdpa_without_mask", known()["sdpa"])
    return "sdpa_without_mask"


def parameters(workload: Workload) -> int:
    """The number of parameters of a workload's model, which takes no memory."""
    with torch.device("meta"):
        return sum(p.numel() for p in workload.make_model().parameters())


def samples(size: Size, count: int, seed: int) -> Dataset[Any]:
    """Inputs of the model, with their targets."""
    if size.family == "vit":
        return Images(count, size.length, CLASSES, seed)
    made = Tokens if size.family == "gpt2" else Pairs
    return made(count, size.length, size.vocabulary, seed)


def loss(model: nn.Module, batch: Batch) -> Tensor:
    """The mean cross entropy of the targets, for an encoder or a decoder alone."""
    name = "pixel_values" if batch[0].dim() == 4 else "input_ids"
    return score_loss(model(**{name: batch[0]}).logits, batch)


def t5_loss(model: nn.Module, batch: Batch) -> Tensor:
    """The mean cross entropy of the decoder's targets; its inputs are the same, one token later."""
    inputs, targets = batch
    begun = torch.cat([torch.zeros_like(targets[:, :1]), targets[:, :-1]], dim=1)
    return score_loss(model(input_ids=inputs, decoder_input_ids=begun).logits, batch)


def score_loss(scores: Tensor, batch: Batch) -> Tensor:
    """The mean cross entropy of scores; reads only the targets of the batch."""
    return cross_entropy(at_least_fp32(scores.flatten(0, -2)), batch[1].flatten())


def _encoder(size: Size) -> dict[str, int]:
    return {
        "num_hidden_layers": size.layers,
        "hidden_size": size.width,
        "num_attention_heads": size.heads,
        "intermediate_size": size.hidden,
    }
