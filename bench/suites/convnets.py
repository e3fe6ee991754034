"""Networks of convolutions in training."""

from bench.harness.suite import Case, Entry, Suite, Target

UNIT = "samples/s"
JAX, TORCH = "bench.peers.in_jax.convnets:sampler", "bench.peers.in_torch.convnets:sampler"
FORMS = {"steps": "a call per step", "loop": "all steps in one call"}

ENTRIES = (
    Entry("ostinato", "bench.ours.convnets:sampler"),
    *(
        Entry("jax", JAX, "jax", f"{said}, channels {order}", given={"order": order, "form": form})
        for form, said in FORMS.items()
        for order in ("last", "first")
    ),
    *(
        Entry("torch", TORCH, "torch", f"channels {order}", given={"order": order})
        for order in ("last", "first")
    ),
)
SIZES = {"dqn": (32, 256), "minatar": (32, 256), "residual": (32,)}

SUITE = Suite(
    name="convnets",
    title="networks of convolutions in training",
    text=(
        "Gradient descent on a classification, all pictures at every step: the network of DQN\n"
        "(4x84x84, three convolutions, 512 units), MinAtar's (4x10x10, one, 128) and IMPALA's\n"
        "residual one (3x64x64, 15 convolutions, pooling, 256). A sample is a picture in one step\n"
        "of training, the update included. The pictures are a dimension in ostinato."
    ),
    cases=tuple(
        Case(network, {"network": network, "batch": batch}, UNIT, ENTRIES)
        for network, batches in SIZES.items()
        for batch in batches
    ),
    targets=(Target("jax", 1.0, 1.5, UNIT), Target("torch", 1.0, 1.5, UNIT)),
)
