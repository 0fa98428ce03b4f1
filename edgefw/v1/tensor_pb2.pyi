from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Tensor(_message.Message):
    __slots__ = ("shape", "data")
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    shape: _containers.RepeatedScalarFieldContainer[int]
    data: bytes
    def __init__(self, shape: _Optional[_Iterable[int]] = ..., data: _Optional[bytes] = ...) -> None: ...

class SparseTensor(_message.Message):
    __slots__ = ("shape", "index", "value")
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    shape: _containers.RepeatedScalarFieldContainer[int]
    index: bytes
    value: bytes
    def __init__(self, shape: _Optional[_Iterable[int]] = ..., index: _Optional[bytes] = ..., value: _Optional[bytes] = ...) -> None: ...

class Array(_message.Message):
    __slots__ = ("dense", "sparse")
    DENSE_FIELD_NUMBER: _ClassVar[int]
    SPARSE_FIELD_NUMBER: _ClassVar[int]
    dense: Tensor
    sparse: SparseTensor
    def __init__(self, dense: _Optional[_Union[Tensor, _Mapping]] = ..., sparse: _Optional[_Union[SparseTensor, _Mapping]] = ...) -> None: ...

class Feedback(_message.Message):
    __slots__ = ("round", "features", "residuals")
    ROUND_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    RESIDUALS_FIELD_NUMBER: _ClassVar[int]
    round: int
    features: Tensor
    residuals: Tensor
    def __init__(self, round: _Optional[int] = ..., features: _Optional[_Union[Tensor, _Mapping]] = ..., residuals: _Optional[_Union[Tensor, _Mapping]] = ...) -> None: ...
