from edgefw.v1 import tensor_pb2 as _tensor_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AccountKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACCOUNT_KIND_UNSPECIFIED: _ClassVar[AccountKind]
    ACCOUNT_KIND_BEGUN: _ClassVar[AccountKind]
    ACCOUNT_KIND_PLAN: _ClassVar[AccountKind]
    ACCOUNT_KIND_ACCEPTED: _ClassVar[AccountKind]
    ACCOUNT_KIND_WITHDRAWN: _ClassVar[AccountKind]
    ACCOUNT_KIND_REDUE: _ClassVar[AccountKind]
    ACCOUNT_KIND_RELEASED: _ClassVar[AccountKind]
    ACCOUNT_KIND_ACKNOWLEDGED: _ClassVar[AccountKind]
    ACCOUNT_KIND_COLLECTED: _ClassVar[AccountKind]
    ACCOUNT_KIND_DROPPED: _ClassVar[AccountKind]
    ACCOUNT_KIND_LOST: _ClassVar[AccountKind]
ACCOUNT_KIND_UNSPECIFIED: AccountKind
ACCOUNT_KIND_BEGUN: AccountKind
ACCOUNT_KIND_PLAN: AccountKind
ACCOUNT_KIND_ACCEPTED: AccountKind
ACCOUNT_KIND_WITHDRAWN: AccountKind
ACCOUNT_KIND_REDUE: AccountKind
ACCOUNT_KIND_RELEASED: AccountKind
ACCOUNT_KIND_ACKNOWLEDGED: AccountKind
ACCOUNT_KIND_COLLECTED: AccountKind
ACCOUNT_KIND_DROPPED: AccountKind
ACCOUNT_KIND_LOST: AccountKind

class JoinRequest(_message.Message):
    __slots__ = ("agent", "address", "metrics_port", "admin", "remembered")
    AGENT_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    METRICS_PORT_FIELD_NUMBER: _ClassVar[int]
    ADMIN_FIELD_NUMBER: _ClassVar[int]
    REMEMBERED_FIELD_NUMBER: _ClassVar[int]
    agent: int
    address: str
    metrics_port: int
    admin: str
    remembered: str
    def __init__(self, agent: _Optional[int] = ..., address: _Optional[str] = ..., metrics_port: _Optional[int] = ..., admin: _Optional[str] = ..., remembered: _Optional[str] = ...) -> None: ...

class JoinResponse(_message.Message):
    __slots__ = ("joined", "samples")
    JOINED_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    joined: Joined
    samples: bytes
    def __init__(self, joined: _Optional[_Union[Joined, _Mapping]] = ..., samples: _Optional[bytes] = ...) -> None: ...

class Joined(_message.Message):
    __slots__ = ("run_id", "configuration")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    CONFIGURATION_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    configuration: bytes
    def __init__(self, run_id: _Optional[str] = ..., configuration: _Optional[bytes] = ...) -> None: ...

class ReportRequest(_message.Message):
    __slots__ = ("reporter", "play")
    REPORTER_FIELD_NUMBER: _ClassVar[int]
    PLAY_FIELD_NUMBER: _ClassVar[int]
    reporter: Reporter
    play: PlayReport
    def __init__(self, reporter: _Optional[_Union[Reporter, _Mapping]] = ..., play: _Optional[_Union[PlayReport, _Mapping]] = ...) -> None: ...

class Reporter(_message.Message):
    __slots__ = ("agent", "run_id")
    AGENT_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    agent: int
    run_id: str
    def __init__(self, agent: _Optional[int] = ..., run_id: _Optional[str] = ...) -> None: ...

class PlayReport(_message.Message):
    __slots__ = ("round", "point", "local_loss", "arrivals", "outstanding", "messages", "bytes", "late")
    ROUND_FIELD_NUMBER: _ClassVar[int]
    POINT_FIELD_NUMBER: _ClassVar[int]
    LOCAL_LOSS_FIELD_NUMBER: _ClassVar[int]
    ARRIVALS_FIELD_NUMBER: _ClassVar[int]
    OUTSTANDING_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    LATE_FIELD_NUMBER: _ClassVar[int]
    round: int
    point: _tensor_pb2.Array
    local_loss: float
    arrivals: _containers.RepeatedScalarFieldContainer[int]
    outstanding: int
    messages: int
    bytes: int
    late: float
    def __init__(self, round: _Optional[int] = ..., point: _Optional[_Union[_tensor_pb2.Array, _Mapping]] = ..., local_loss: _Optional[float] = ..., arrivals: _Optional[_Iterable[int]] = ..., outstanding: _Optional[int] = ..., messages: _Optional[int] = ..., bytes: _Optional[int] = ..., late: _Optional[float] = ...) -> None: ...

class ReportResponse(_message.Message):
    __slots__ = ("round", "global_loss", "cumulative_loss", "regret", "gap")
    ROUND_FIELD_NUMBER: _ClassVar[int]
    GLOBAL_LOSS_FIELD_NUMBER: _ClassVar[int]
    CUMULATIVE_LOSS_FIELD_NUMBER: _ClassVar[int]
    REGRET_FIELD_NUMBER: _ClassVar[int]
    GAP_FIELD_NUMBER: _ClassVar[int]
    round: int
    global_loss: float
    cumulative_loss: float
    regret: float
    gap: float
    def __init__(self, round: _Optional[int] = ..., global_loss: _Optional[float] = ..., cumulative_loss: _Optional[float] = ..., regret: _Optional[float] = ..., gap: _Optional[float] = ...) -> None: ...

class AccountRequest(_message.Message):
    __slots__ = ("run_id", "entries")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    entries: _containers.RepeatedCompositeFieldContainer[AccountEntry]
    def __init__(self, run_id: _Optional[str] = ..., entries: _Optional[_Iterable[_Union[AccountEntry, _Mapping]]] = ...) -> None: ...

class AccountEntry(_message.Message):
    __slots__ = ("moment", "kind", "agent", "round", "version", "due", "hash", "norm", "plan", "what", "who")
    MOMENT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DUE_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    NORM_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    WHAT_FIELD_NUMBER: _ClassVar[int]
    WHO_FIELD_NUMBER: _ClassVar[int]
    moment: int
    kind: AccountKind
    agent: int
    round: int
    version: int
    due: int
    hash: bytes
    norm: float
    plan: str
    what: str
    who: str
    def __init__(self, moment: _Optional[int] = ..., kind: _Optional[_Union[AccountKind, str]] = ..., agent: _Optional[int] = ..., round: _Optional[int] = ..., version: _Optional[int] = ..., due: _Optional[int] = ..., hash: _Optional[bytes] = ..., norm: _Optional[float] = ..., plan: _Optional[str] = ..., what: _Optional[str] = ..., who: _Optional[str] = ...) -> None: ...

class AccountResponse(_message.Message):
    __slots__ = ("moment",)
    MOMENT_FIELD_NUMBER: _ClassVar[int]
    moment: int
    def __init__(self, moment: _Optional[int] = ...) -> None: ...
