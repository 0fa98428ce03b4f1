from edgefw.v1 import tensor_pb2 as _tensor_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ExchangeRequest(_message.Message):
    __slots__ = ("hello", "frame")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    FRAME_FIELD_NUMBER: _ClassVar[int]
    hello: Hello
    frame: Frame
    def __init__(self, hello: _Optional[_Union[Hello, _Mapping]] = ..., frame: _Optional[_Union[Frame, _Mapping]] = ...) -> None: ...

class ExchangeResponse(_message.Message):
    __slots__ = ("hello", "frame")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    FRAME_FIELD_NUMBER: _ClassVar[int]
    hello: Hello
    frame: Frame
    def __init__(self, hello: _Optional[_Union[Hello, _Mapping]] = ..., frame: _Optional[_Union[Frame, _Mapping]] = ...) -> None: ...

class Hello(_message.Message):
    __slots__ = ("protocol_version", "agent", "run_id", "resume_round", "resume_step")
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    RESUME_ROUND_FIELD_NUMBER: _ClassVar[int]
    RESUME_STEP_FIELD_NUMBER: _ClassVar[int]
    protocol_version: int
    agent: int
    run_id: str
    resume_round: int
    resume_step: int
    def __init__(self, protocol_version: _Optional[int] = ..., agent: _Optional[int] = ..., run_id: _Optional[str] = ..., resume_round: _Optional[int] = ..., resume_step: _Optional[int] = ...) -> None: ...

class Frame(_message.Message):
    __slots__ = ("round", "step", "iterate", "tracker")
    ROUND_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    ITERATE_FIELD_NUMBER: _ClassVar[int]
    TRACKER_FIELD_NUMBER: _ClassVar[int]
    round: int
    step: int
    iterate: _tensor_pb2.Array
    tracker: _tensor_pb2.Tensor
    def __init__(self, round: _Optional[int] = ..., step: _Optional[int] = ..., iterate: _Optional[_Union[_tensor_pb2.Array, _Mapping]] = ..., tracker: _Optional[_Union[_tensor_pb2.Tensor, _Mapping]] = ...) -> None: ...
