"""The section `data` of a scenario."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from edgefw.delays.strict import Strict
from edgefw.problem.partition import KINDS as PARTITIONS
from edgefw.problem.scaling import WAYS as SCALINGS
from edgefw.scenario.fields import LARGEST, one_of


class Data(Strict):
    """What agents learn from, and how it is shared out."""

    source: str = Field(
        default="auto",
        description="Where samples come from: auto, fashion-mnist, mnist, synthetic, a folder of idx files, "
        "or a file of your own (.npz, .npy, .csv, .parquet). auto is fashion-mnist where it is found, and "
        "synthetic elsewhere. A folder has train-images-idx3-ubyte and train-labels-idx1-ubyte, gzipped or "
        "not. A data set of your own is named as an algorithm is.",
        examples=["synthetic"],
    )
    partition: one_of("partition", tuple(PARTITIONS)) = Field(  # type: ignore[valid-type]
        default="iid",
        description="How samples are shared out. iid: every agent has the same mix of classes. dirichlet: "
        "each draws a mix of its own. by_class: samples are sorted by class (or real target) and cut into "
        "equal pieces. in_turn: agent i of n has samples i, i + n, and so on.",
        examples=["dirichlet"],
    )
    alpha: PositiveFloat = Field(
        default=0.5,
        description="How even the dirichlet partition is. A small alpha gives an agent few classes, a large "
        "one comes close to iid.",
        examples=[0.2],
    )
    samples: PositiveInt | None = Field(
        default=None,
        description="How many samples there are. Of a data set that many are drawn; of the synthetic stream "
        "that many are made. Left out, it is all of a data set, and 60,000 of the synthetic stream.",
        examples=[5000],
    )
    drift: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="How far the classes of the synthetic stream have moved at its last sample, as a share "
        "of the way to other classes. Samples that drift are read in order.",
        examples=[0.5],
    )
    order: Literal["auto", "shuffled", "given"] = Field(
        default="auto",
        description="In which order an agent reads its samples, over and over. shuffled: in another one each "
        "time. given: as they stand in the data, as a time series is. auto: given for data that drift, else "
        "shuffled.",
        examples=["given"],
    )
    target: str | None = Field(
        default=None,
        description="Which column of a file is the target: its name, or its number from 0, in quotes. Left "
        "out, it is the last one. Of an .npz, the name of an array; left out, labels or y.",
        examples=["price"],
    )
    targets: Literal["auto", "classes", "real"] = Field(
        default="auto",
        description="What the targets of a file are. auto: classes where they are texts, or whole numbers of "
        "at most 1,000 different values; else real numbers. With source synthetic, real makes a linear "
        "function of the features with noise.",
        examples=["real"],
    )
    scale: PositiveFloat | None = Field(
        default=None,
        le=LARGEST,
        description="What features are multiplied by. Left out, it is 1/255 for images and 1 for all others.",
        examples=[0.01],
    )
    scaling: one_of("scaling", ("none", *SCALINGS)) = Field(  # type: ignore[valid-type]
        default="none",
        description="How features are scaled, over all samples. standardize: every feature gets mean 0 and "
        "standard deviation 1. unit_interval: every feature gets to [0, 1]. unit_norm: the longest sample "
        "gets norm 1.",
        examples=["standardize"],
    )
    features: PositiveInt | None = Field(
        default=None,
        description="How many features the synthetic stream has. Left out, it is 784.",
        examples=[20],
    )
    classes: Annotated[int, Field(ge=2)] | None = Field(
        default=None,
        description="How many classes the synthetic stream has. Left out, it is 10.",
        examples=[3],
    )
    noise: Annotated[float, Field(ge=0, le=1)] | None = Field(
        default=None,
        description="How much a sample of the synthetic stream may look like another class, or how far a "
        "real target may be off. Left out, it is 0.6.",
        examples=[0.3],
    )
    params: dict[str, Any] = Field(
        default_factory=dict,
        description="Parameters of a data set of your own: they go to its class by name.",
        examples=[{"sensors": 3}],
    )

    @property
    def in_order(self) -> bool:
        """Whether agents read their samples in the order of the data."""
        return self.order == "given" or (self.order == "auto" and self.drift > 0)
