from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SubmitRequest(_message.Message):
    __slots__ = ("agent", "round", "run_id", "payload", "norm")
    AGENT_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    NORM_FIELD_NUMBER: _ClassVar[int]
    agent: int
    round: int
    run_id: str
    payload: bytes
    norm: float
    def __init__(self, agent: _Optional[int] = ..., round: _Optional[int] = ..., run_id: _Optional[str] = ..., payload: _Optional[bytes] = ..., norm: _Optional[float] = ...) -> None: ...

class SubmitResponse(_message.Message):
    __slots__ = ("requested_delay", "dropped", "agent", "round")
    REQUESTED_DELAY_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    requested_delay: float
    dropped: bool
    agent: int
    round: int
    def __init__(self, requested_delay: _Optional[float] = ..., dropped: _Optional[bool] = ..., agent: _Optional[int] = ..., round: _Optional[int] = ...) -> None: ...

class SubscribeRequest(_message.Message):
    __slots__ = ("subscription", "acknowledgement")
    SUBSCRIPTION_FIELD_NUMBER: _ClassVar[int]
    ACKNOWLEDGEMENT_FIELD_NUMBER: _ClassVar[int]
    subscription: Subscription
    acknowledgement: Acknowledgement
    def __init__(self, subscription: _Optional[_Union[Subscription, _Mapping]] = ..., acknowledgement: _Optional[_Union[Acknowledgement, _Mapping]] = ...) -> None: ...

class Subscription(_message.Message):
    __slots__ = ("agent", "run_id", "awaited")
    AGENT_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    AWAITED_FIELD_NUMBER: _ClassVar[int]
    agent: int
    run_id: str
    awaited: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, agent: _Optional[int] = ..., run_id: _Optional[str] = ..., awaited: _Optional[_Iterable[int]] = ...) -> None: ...

class Acknowledgement(_message.Message):
    __slots__ = ("rounds",)
    ROUNDS_FIELD_NUMBER: _ClassVar[int]
    rounds: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, rounds: _Optional[_Iterable[int]] = ...) -> None: ...

class SubscribeResponse(_message.Message):
    __slots__ = ("subscribed", "delivery", "dropped")
    SUBSCRIBED_FIELD_NUMBER: _ClassVar[int]
    DELIVERY_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    subscribed: Subscribed
    delivery: Delivery
    dropped: Dropped
    def __init__(self, subscribed: _Optional[_Union[Subscribed, _Mapping]] = ..., delivery: _Optional[_Union[Delivery, _Mapping]] = ..., dropped: _Optional[_Union[Dropped, _Mapping]] = ...) -> None: ...

class Subscribed(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Delivery(_message.Message):
    __slots__ = ("round", "payload", "requested_delay")
    ROUND_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    REQUESTED_DELAY_FIELD_NUMBER: _ClassVar[int]
    round: int
    payload: bytes
    requested_delay: float
    def __init__(self, round: _Optional[int] = ..., payload: _Optional[bytes] = ..., requested_delay: _Optional[float] = ...) -> None: ...

class Dropped(_message.Message):
    __slots__ = ("rounds",)
    ROUNDS_FIELD_NUMBER: _ClassVar[int]
    rounds: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, rounds: _Optional[_Iterable[int]] = ...) -> None: ...

class CollectRequest(_message.Message):
    __slots__ = ("agent", "round", "run_id", "awaited")
    AGENT_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    AWAITED_FIELD_NUMBER: _ClassVar[int]
    agent: int
    round: int
    run_id: str
    awaited: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, agent: _Optional[int] = ..., round: _Optional[int] = ..., run_id: _Optional[str] = ..., awaited: _Optional[_Iterable[int]] = ...) -> None: ...

class CollectResponse(_message.Message):
    __slots__ = ("delivery", "dropped")
    DELIVERY_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    delivery: Delivery
    dropped: Dropped
    def __init__(self, delivery: _Optional[_Union[Delivery, _Mapping]] = ..., dropped: _Optional[_Union[Dropped, _Mapping]] = ...) -> None: ...
