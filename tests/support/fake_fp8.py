"""``--float8`` on a device without fp8: torchao computes the products of fp8 numbers in fp32."""

from dataclasses import replace

from benchmarks.common.strategies import float8


def allow_fp8_on_cpus():
    """Pass the check of the device, and let torchao emulate, until the process ends."""
    from torchao.float8 import Float8LinearConfig

    recipe = Float8LinearConfig.from_recipe_name
    float8.require_fp8 = lambda device: None
    Float8LinearConfig.from_recipe_name = staticmethod(
        lambda name: replace(recipe(name), emulate=True)
    )
