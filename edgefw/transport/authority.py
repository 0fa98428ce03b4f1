"""An authority of one's own for a run: it says by a certificate which service a key belongs to.

The folder has `ca.pem` and `ca-key.pem`, and a folder for each service with its certificate, its key and the
authority's certificate: all that the service is to have. What is there and good is kept, so that a service
which comes later gets a certificate of the same authority.
"""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from edgefw.errors import InputError
from edgefw.transport.credentials import AUTHORITY, CERTIFICATE, KEY

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

AUTHORITY_KEY = "ca-key.pem"
LIFE = 3650  # days of an authority: its certificates come and go, and are believed as long as it is there
_SKEW = timedelta(hours=1)  # that the clocks of two machines may be apart
_PRIVATE, _PUBLIC = 0o600, 0o644


class Signer(NamedTuple):
    """The authority."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def make_certificates(folder: Path, names: Sequence[str], days: int, owner: int | None = None) -> list[str]:
    """Make the certificates that are missing or no good any more; return whose they are.

    `owner` is the user that the files of services are to belong to.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        signer = _authority(folder)
        missing = [name for name in names if not _is_good(folder / name, name, signer)]
        for name in missing:
            _issue(folder / name, name, signer, days, owner)
    except OSError as error:
        raise InputError(f"cannot write certificates to {folder}: {error.strerror or error}") from None
    return missing


def _authority(folder: Path) -> Signer:
    """Return the authority of a folder, a new one if there is none."""
    certificate, key = _loaded(folder / AUTHORITY, folder / AUTHORITY_KEY)
    if certificate is not None and key is not None:
        if not _lasts(certificate):
            raise InputError(f"the authority in {folder} has expired: begin with an empty folder")
        return Signer(certificate, key)
    if certificate is not None or key is not None:
        raise InputError(
            f"{folder} has one of {AUTHORITY} and {AUTHORITY_KEY}, and both are needed to make certificates: "
            "put the other one back, or begin with an empty folder"
        )
    own = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "edgefw")])
    usage = _usage(signs=True)
    signed = (
        _begun(name, name, own.public_key(), LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(own.public_key()), critical=False)
        .sign(own, hashes.SHA256())
    )
    _write(folder / AUTHORITY_KEY, _pem(own), _PRIVATE)
    _write(folder / AUTHORITY, signed.public_bytes(serialization.Encoding.PEM), _PUBLIC)
    return Signer(signed, own)


def _issue(folder: Path, name: str, signer: Signer, days: int, owner: int | None) -> None:
    """Make a key for a service and certify whose it is; the certificate comes last."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    certificate = (
        _begun(subject, signer.certificate.subject, key.public_key(), days)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(both), critical=False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.key.public_key()), critical=False
        )
        .sign(signer.key, hashes.SHA256())
    )
    folder.mkdir(mode=0o755, exist_ok=True)
    encoding = serialization.Encoding.PEM
    _write(folder / KEY, _pem(key), _PRIVATE, owner)
    _write(folder / AUTHORITY, signer.certificate.public_bytes(encoding), _PUBLIC, owner)
    _write(folder / CERTIFICATE, certificate.public_bytes(encoding), _PUBLIC, owner)


def _is_good(folder: Path, name: str, signer: Signer) -> bool:
    """Whether a folder has what its service needs, of this authority, for a while."""
    try:
        certificate, key = _loaded(folder / CERTIFICATE, folder / KEY)
        authority, _ = _loaded(folder / AUTHORITY, folder / KEY)
    except InputError:  # damaged
        return False
    if certificate is None or key is None or authority != signer.certificate:
        return False
    try:
        certificate.verify_directly_issued_by(signer.certificate)
    except (InvalidSignature, ValueError):
        return False
    said = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    ours = said.get_values_for_type(x509.DNSName) == [name] and certificate.public_key() == key.public_key()
    return ours and _lasts(certificate)


def _lasts(certificate: x509.Certificate) -> bool:
    return certificate.not_valid_after_utc > datetime.now(UTC) + timedelta(days=1)


def _loaded(
    certificate: Path, key: Path
) -> tuple[x509.Certificate | None, ec.EllipticCurvePrivateKey | None]:
    """Return what two files hold, None for one that is not there; what cannot be read is an error."""
    found: list[bytes | None] = [None, None]
    for i, file in enumerate((certificate, key)):
        with suppress(FileNotFoundError):
            found[i] = file.read_bytes()
    try:
        loaded = None if found[0] is None else x509.load_pem_x509_certificate(found[0])
        private = None if found[1] is None else serialization.load_pem_private_key(found[1], None)
    except (ValueError, TypeError):
        raise InputError(f"{certificate} or {key} is damaged: remove both, and make them again") from None
    if private is not None and not isinstance(private, ec.EllipticCurvePrivateKey):
        raise InputError(f"{key} is not a key that edgefw made: begin with an empty folder")
    return loaded, private


def _begun(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + timedelta(days=days))
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _write(path: Path, content: bytes, mode: int, owner: int | None = None) -> None:
    """Put a file there whole, or not at all; nobody else can read a key for a moment."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)  # of one that was killed: in a container all have the same number
    with open(draft, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        file.write(content)
        if owner is not None:
            os.chown(file.fileno(), owner, owner)
    draft.replace(path)
