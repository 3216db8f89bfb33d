"""Operations of one training step, by formula: the basis of MFU.

Matrix products and convolutions are counted, a multiplication and an addition as two operations, as
in LAPACK and ``torch.utils.flop_counter``; norms, softmax and activations are below one per cent.
Attention is counted in full, although causal attention may skip half. The backward pass takes twice
the forward pass, one product for the inputs and one for the weights (Kaplan et al. 2020, "Scaling
Laws for Neural Language Models", 2.1; Narayanan et al. 2021, "Efficient Large-Scale Language Model
Training on GPU Clusters", appendix), except for the first layer of an image model, whose inputs
need no gradient. Recomputation by activation checkpointing is not counted.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

PLANES = (64, 128, 256, 512)  # of the four stages of every ResNet


@dataclass(frozen=True)
class ResNet:
    """A residual network as torchvision builds it (He et al. 2015; stride in the 3x3)."""

    layers: tuple[int, int, int, int]  # blocks of the stages
    bottleneck: bool = True
    groups: int = 1
    width: int = 64  # of a group, in the first stage

    def flop(self, images: int, size: int, classes: int) -> float:
        """Operations of a step on ``images`` of ``size`` x ``size`` pixels.

        A convolution with kernel k to an output of H x W takes 2 k^2 C_in C_out / groups H W.
        """
        stem = _conv(3, 64, 7, pixels := -(-size // 2))
        pixels, channels, body = -(-pixels // 2), 64, 0.0
        for stage, (planes, blocks) in enumerate(zip(PLANES, self.layers, strict=True)):
            for block in range(blocks):
                stride = 2 if stage > 0 and block == 0 else 1
                flop, channels = self._block(channels, planes, pixels, stride)
                pixels, body = -(-pixels // stride), body + flop
        return images * (2 * stem + 3 * (body + 2 * channels * classes))

    def _block(self, channels: int, planes: int, pixels: int, stride: int) -> tuple[float, int]:
        small = -(-pixels // stride)
        if self.bottleneck:
            inner, out = planes * self.width // 64 * self.groups, 4 * planes
            flop = _conv(channels, inner, 1, pixels) + _conv(inner, out, 1, small)
            flop += _conv(inner, inner, 3, small) / self.groups
        else:
            out = planes
            flop = _conv(channels, planes, 3, small) + _conv(planes, planes, 3, small)
        if stride > 1 or channels != out:
            flop += _conv(channels, out, 1, small)
        return flop, out


RESNETS: Mapping[str, ResNet] = {
    "resnet18": ResNet((2, 2, 2, 2), bottleneck=False),
    "resnet34": ResNet((3, 4, 6, 3), bottleneck=False),
    "resnet50": ResNet((3, 4, 6, 3)),
    "resnet101": ResNet((3, 4, 23, 3)),
    "resnet152": ResNet((3, 8, 36, 3)),
    "resnext50_32x4d": ResNet((3, 4, 6, 3), groups=32, width=4),
    "resnext101_32x8d": ResNet((3, 4, 23, 3), groups=32, width=8),
    "resnext101_64x4d": ResNet((3, 4, 23, 3), groups=64, width=4),
    "wide_resnet50_2": ResNet((3, 4, 6, 3), width=128),
    "wide_resnet101_2": ResNet((3, 4, 23, 3), width=128),
}


@dataclass(frozen=True)
class Transformer:
    """The layers of a transformer: ``width`` of the residual stream, ``hidden`` of the perceptron.

    ``inner`` is the width of all heads together; None: the width of the stream.
    """

    layers: int
    width: int
    hidden: int
    inner: int | None = None

    def layer(self, tokens: int, memory: int = 0) -> float:
        """Operations of a forward pass of one sequence through one layer.

        Four projections take 8 s h a (a: ``inner``), scores and their use 4 s^2 a, the perceptron
        4 s h f. With ``memory``, a decoder reads that many tokens of an encoder: projections of
        the queries and of the result take 4 s h a, of the memory 4 m h a, attention 4 s m a.
        """
        h, a = self.width, self.inner or self.width
        projections = 8 * tokens * h * a
        attention = 4 * tokens**2 * a
        perceptron = 4 * tokens * h * self.hidden
        if memory:
            projections += 4 * (tokens + memory) * h * a
            attention += 4 * tokens * memory * a
        return projections + attention + perceptron

    def gpt(self, sequences: int, tokens: int, vocabulary: int) -> float:
        """Operations of a step of a language model: the layers, and 2 s h V for the scores."""
        head = 2 * tokens * self.width * vocabulary
        return 3 * sequences * (self.layers * self.layer(tokens) + head)

    def bert(self, sequences: int, tokens: int, vocabulary: int) -> float:
        """Operations of a step on masked words (Devlin et al. 2018): 2 s h^2 before the scores."""
        transform = 2 * tokens * self.width**2
        return self.gpt(sequences, tokens, vocabulary) + 3 * sequences * transform

    def t5(self, sequences: int, tokens: int, vocabulary: int) -> float:
        """Operations of a step of encoder and decoder (Raffel et al. 2019), ``tokens`` each."""
        encoder = self.layers * self.layer(tokens)
        decoder = self.layers * self.layer(tokens, memory=tokens)
        head = 2 * tokens * self.width * vocabulary
        return 3 * sequences * (encoder + decoder + head)

    def vit(self, images: int, size: int, patch: int, classes: int) -> float:
        """Operations of a step on images (Dosovitskiy et al. 2020): n patches, and a class token.

        The embedding of the patches takes 2 n h 3 p^2 in the forward pass, and the same for the
        gradient of its weights.
        """
        patches = (size // patch) ** 2
        embedding = 2 * patches * self.width * 3 * patch**2
        body = self.layers * self.layer(patches + 1) + 2 * self.width * classes
        return images * (2 * embedding + 3 * body)


def counted(
    make: Callable[[], nn.Module], forward: Callable[[nn.Module], object]
) -> tuple[float, int]:
    """Three times the operations that PyTorch counts in ``forward``, and the number of parameters.

    ``make`` and ``forward`` are called on the meta device, where tensors have only shapes. The
    backward pass is not counted: the counter is wrong by the number of groups for the gradient of
    a grouped convolution's weights.
    """
    with torch.device("meta"):
        model = make()
        with FlopCounterMode(display=False) as counter:
            forward(model)
    return 3.0 * counter.get_total_flops(), sum(p.numel() for p in model.parameters())


def _conv(channels: int, out: int, kernel: int, pixels: int) -> float:
    return 2.0 * kernel**2 * channels * out * pixels**2
